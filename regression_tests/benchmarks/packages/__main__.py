"""Play released packages in a leaky and a fixed version: who is found, named, wrongly accused?

``python -m regression_tests.benchmarks.packages -o reports/packages --jobs 1`` makes an environment
for each version outside of this checkout (about 4 GB in the user's cache, or where
``$LEAKGUARD_BENCHMARKS`` says), plays each side alone and under the guard as it comes, and writes
the table. Exit status 1 when something was not as it should be.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from regression_tests.benchmarks.packages import pairs
from regression_tests.benchmarks.packages.environment import Unbuildable, leakguard_for
from regression_tests.benchmarks.packages.outcome import Outcome, play
from regression_tests.benchmarks.packages.pair import PAIRS, Pair
from regression_tests.benchmarks.packages.table import page, row
from regression_tests.benchmarks.playing.page import keep_page
from regression_tests.benchmarks.playing.player import Player

assert pairs


def main() -> int:
    """Build, play, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    chosen = [p for p in PAIRS.values() if not options.only or _asked(p, options.only)]
    outcomes: list[Outcome] = []
    unbuilt: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        player = Player(options.runs or Path(scratch), jobs=1)
        for result in played(chosen, player, options.jobs):
            if isinstance(result, Unbuildable):
                unbuilt.append(str(result))
            else:
                outcomes.append(result)
            print(result if isinstance(result, Unbuildable) else row(result), file=sys.stderr)
            if options.out is not None and not options.only:
                keep_page(options.out / "table.md", page(outcomes, unbuilt), __spec__.parent)
    print(page(outcomes, unbuilt))
    return int(bool(unbuilt) or not all(outcome.right for outcome in outcomes))


def _asked(pair: Pair, only: Sequence[str]) -> bool:
    return any(text in pair.name or text == pair.package for text in only)


def played(chosen: Sequence[Pair], player: Player, jobs: int) -> Iterator[Outcome | Unbuildable]:
    """Play pairs, as many at a time as there are jobs, in their order."""

    def one(pair: Pair) -> Outcome | Unbuildable:
        try:
            return play(pair, player)
        except Unbuildable as reason:
            return reason

    for version in {pair.python for pair in chosen}:
        leakguard_for(version)  # once, before several ask for it at a time
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, chosen)


if __name__ == "__main__":
    sys.exit(main())
