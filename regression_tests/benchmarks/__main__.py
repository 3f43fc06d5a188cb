"""Play a set of programs, hold what leakguard says of each to its key, and print the table.

::

    python -m regression_tests.benchmarks SET [--only NAME] [--times N] [-o FILE.md]

``--runs`` keeps the run files and ``--plays`` what was said, a line a play; what is there is not
played again. Exit status 1 when something was not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from regression_tests.benchmarks.harm.busy import neighbours
from regression_tests.benchmarks.leakbench.table import problem
from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.manifest import MACHINES, Manifest
from regression_tests.benchmarks.playing.page import keep_page, page, version
from regression_tests.benchmarks.playing.play import Answer, Play, keep, kept
from regression_tests.benchmarks.playing.player import PATIENCE, Player, told
from regression_tests.benchmarks.sets import MANIFESTS


def main() -> int:
    """Play what was not played yet, judge, print, write."""
    options = _parser().parse_args()
    manifest = MANIFESTS[options.set]
    revision = version()  # now: the checkout may change while the programs run
    entries = [e for e in manifest.entries() if any(o in e.name for o in options.only or [""])]
    plays = list(kept(options.plays))
    with tempfile.TemporaryDirectory() as scratch:
        for play in plays_of(manifest, entries, plays, options.runs or Path(scratch), options):
            plays.append(play)
            if options.plays:
                keep(play, options.plays)
    by_entry = [(e, [play for play in plays if play.key == e.key]) for e in entries]
    played = [(entry, its) for entry, its in by_entry if its]
    text = page(manifest, played, revision)
    print(text)
    if options.out:
        keep_page(options.out, text, "regression_tests.benchmarks")
    return int(any(problem(play.case(e)) for e, its in played for play in its))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=MANIFESTS, metavar="SET", help=", ".join(MANIFESTS))
    parser.add_argument("--only", action="append", metavar="NAME", help="programs with this in it")
    parser.add_argument("--times", type=int, metavar="N", help="each program N times")
    parser.add_argument(
        "--machine", choices=MACHINES, action="append", help="loaded: two busy processes"
    )
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS")
    parser.add_argument("--runs", type=Path, metavar="FOLDER")
    parser.add_argument("--plays", type=Path, metavar="FILE")
    parser.add_argument("-o", dest="out", type=Path, metavar="FILE")
    return parser


def plays_of(
    manifest: Manifest,
    entries: Sequence[Entry],
    known: Sequence[Play],
    folder: Path,
    options: argparse.Namespace,
) -> Iterator[Play]:
    """Yield what is said of each play that is not known."""
    places = {play.place for play in known}
    for machine in options.machine or manifest.machines:
        with neighbours(machine == "loaded"):
            for turn in range(options.times or manifest.times):
                waiting = {e.key: e for e in entries if (e.key, machine, turn) not in places}
                player = Player(folder / f"{machine}-{turn}", options.jobs, options.patience)
                for playing in player.play(waiting.values()):
                    told(playing)
                    if not playing.unplayable:
                        answer = answer_of(manifest, waiting[playing.key], player, playing.failure)
                        yield Play(playing.key, machine, turn, answer)


def answer_of(manifest: Manifest, entry: Entry, player: Player, failure: str | None) -> Answer:
    """Return what was said of a program that was played."""
    if failure is not None:
        return Answer(failure=failure)
    return manifest.judge(entry, player.run_of(entry), player.printed(entry))


if __name__ == "__main__":
    sys.exit(main())
