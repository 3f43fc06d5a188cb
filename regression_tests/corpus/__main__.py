"""Records, packs, judges and weighs runs: ``python -m regression_tests.corpus -h``."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.play import by_run
from regression_tests.benchmarks.playing.player import Player, told
from regression_tests.benchmarks.sets import MANIFESTS
from regression_tests.corpus import looks, orders, packing
from regression_tests.corpus.archive import Damaged, unpack
from regression_tests.corpus.balance import page as balance_page
from regression_tests.corpus.balance import shares
from regression_tests.corpus.judge import judge, loaded
from regression_tests.corpus.keys import is_aside, read_keys
from regression_tests.corpus.sample import sampled
from regression_tests.corpus.table import (
    LEGEND,
    differences,
    markdown,
    read_table,
    sums,
    write_table,
)
from regression_tests.corpus.weighing.page import page
from regression_tests.corpus.weighing.rules import changes
from regression_tests.corpus.weighing.scales import Weight, weigh, weighed_runs

#: A recording is never in the way of what else the machine does.
NICE = 10


def main() -> int:
    """Do what is asked; exit status 1 when reports changed, 2 when that cannot be said."""
    options = _parser().parse_args()
    try:
        return int(options.action(options))
    except Damaged as reason:
        print(f"corpus: {reason}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="play what is not recorded yet")
    record.add_argument("--without", metavar="NAME", help="runs with this are left out")
    record.add_argument("--jobs", type=int, default=2)
    record.set_defaults(action=_record)
    pack = commands.add_parser("pack", help="put recorded runs and their keys beside the code")
    pack.set_defaults(action=_pack)
    for command in (record, pack):
        command.add_argument("--runs", type=Path, required=True, metavar="FOLDER")
    judging = commands.add_parser(
        "judge",
        help="diagnose all runs; which changed since --write?",
    )
    judging.add_argument("--write", action="store_true", help="make the table say what is said now")
    judging.add_argument("-o", dest="out", type=Path, metavar="FILE", help="for the counts")
    judging.add_argument("--sample", type=int, metavar="N", help="so many runs, always the same")
    judging.set_defaults(action=_judge)
    weighing = commands.add_parser("weigh", help="what is each number and each rule worth?")
    weighing.add_argument("--sample", type=int, metavar="N", help="so many runs, always the same")
    weighing.add_argument("--only", default="", metavar="RULE", help="rules with this in the name")
    weighing.add_argument("--without", metavar="RULE", help="rules with this are left out")
    weighing.add_argument(
        "--seconds", type=float, default=math.inf, metavar="S", help="not runs judged for longer"
    )
    weighing.add_argument("-o", dest="out", type=Path, metavar="FILE", help="where it is written")
    weighing.set_defaults(action=_weigh)
    balancing = commands.add_parser("balance", help="how much of each growth do rows explain?")
    balancing.add_argument("-o", dest="out", type=Path, metavar="FILE", help="where it is written")
    balancing.set_defaults(action=_balance)
    looking = commands.add_parser("looks", help="what if the policy had chosen the looks?")
    looking.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another value of a number"
    )
    looking.add_argument("-o", dest="out", type=Path, metavar="FILE", help="where it is written")
    looking.set_defaults(action=_looks)
    ordering = commands.add_parser("orders", help="do tables in another order change a report?")
    ordering.add_argument("--orders", type=int, default=100, metavar="N")
    ordering.add_argument(
        "--each", type=int, default=10, metavar="N", help="orders in which each run is judged"
    )
    ordering.set_defaults(action=_orders)
    for command in (record, judging, looking, ordering):
        command.add_argument(
            "--only", default="", metavar="NAME", help="runs with this in the name"
        )
    return parser


def _record(options: argparse.Namespace) -> int:
    os.nice(NICE)
    for playing in Player(options.runs, options.jobs).play(filter(_wanted(options), entries())):
        told(playing)
    return 0


def entries() -> list[Entry]:
    """Return every run that the corpus has or could have, by name."""
    sets = (manifest.entries() for manifest in MANIFESTS.values() if manifest.judge is by_run)
    return sorted((entry for each in sets for entry in each), key=lambda entry: entry.key)


def _wanted(options: argparse.Namespace) -> Callable[[Entry], bool]:
    without = options.without

    def wanted(entry: Entry) -> bool:
        return options.only in entry.key and not (without and without in entry.key)

    return wanted


def _pack(options: argparse.Namespace) -> int:
    print(packing.pack_recorded(Player(options.runs), entries()))
    return 0


def _judge(options: argparse.Namespace) -> int:
    keys = {run: key for run, key in read_keys().items() if options.only in run}
    chosen = sampled(keys.values(), options.sample)
    runs = ((chosen[run], files) for run, files in unpack() if run in chosen)
    judged = list(judge(runs))
    counts = markdown(sums(judged))
    print(counts)
    if options.out is not None:
        options.out.write_text(f"{counts}\n{LEGEND}", encoding="utf-8")
    changed = differences(judged, read_table())
    seen = [change for change in changed if not is_aside(change.run)]
    print("\n".join(change.told for change in seen))
    aside = len(changed) - len(seen)
    print(f"{len(changed)} of {len(judged)} reports changed, {aside} of them set aside.")
    if options.write:
        whole = not options.only and options.sample is None
        write_table({} if whole else read_table(), judged)
        return 0
    return int(bool(changed))


def _orders(options: argparse.Namespace) -> int:
    keys = {run: key for run, key in read_keys().items() if options.only in run}
    runs = ((keys[run], files) for run, files in unpack() if run in keys)
    told = list(orders.changes(runs, options.orders, options.each))
    changed = {run: seeds for run, seeds in told if seeds}
    for run, seeds in changed.items():
        print(f"{run}: orders {', '.join(map(str, seeds))}")
    tried = len(told) * options.each
    print(
        f"{tried} reports of {len(told)} runs in {options.orders} orders: {len(changed)} changed."
    )
    return int(bool(changed))


def _balance(options: argparse.Namespace) -> int:
    told = balance_page(list(shares(loaded(read_keys()))))
    print(told)
    if options.out is not None:
        options.out.write_text(told, encoding="utf-8")
    return 0


def _looks(options: argparse.Namespace) -> int:
    keys = {run: key for run, key in read_keys().items() if options.only in run}
    runs = [(keys[run], its) for run, its in unpack() if run in keys]
    rows = [
        looks.row("the run", looks.replay(runs, looks.as_recorded)),
        looks.row("the policy", looks.replay(runs)),
    ]
    for text in options.set:
        name, _, value = text.partition("=")
        with looks.changed({name: float(value)}):
            rows.append(looks.row(text, looks.replay(runs)))
    counts = markdown(rows, looks.HEAD)
    print(counts)
    if options.out is not None:
        options.out.write_text(f"{counts}\n{looks.LEGEND}", encoding="utf-8")
    return 0


def _weigh(options: argparse.Namespace) -> int:
    keys = (key for run, key in read_keys().items() if not is_aside(run))
    chosen = sampled(keys, options.sample)
    read = dict(loaded(chosen))
    runs = {run: (chosen[run], read[run]) for run in chosen}  # the first ones are of all sets
    asked = (change for change in changes() if options.only in change.name)
    without = options.without
    wanted = [change for change in asked if not (without and without in change.name)]
    weights: list[Weight] = []
    for weight in weigh(runs, wanted, options.seconds):
        weights.append(weight)
        if options.out is not None:  # what is weighed already, for whoever does not wait
            options.out.write_text(page(weights, weighed_runs(), len(wanted)), encoding="utf-8")
    print(page(weights, weighed_runs(), len(wanted)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
