"""What the sidecar costs a calm job: rounds that its parent makes with it, over those without.

``python -m regression_tests.benchmarks.job_children.slowdown [--pairs N] [--seconds S] [WAY ...]``
plays each way whose rounds wait for the work of the children, which compute without a pause, in
turn with the sidecar and without. The parent has a guard both times.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from pathlib import Path

from regression_tests.benchmarks.playing.player import Player
from regression_tests.benchmarks.sets.job_children import entry_of

#: The parent of the others does not wait for what its children do, or makes so many rounds.
WAITING = ("pool", "executor", "loky", "loader", "subproc", "vector", "ray_actors")
_ROUNDS = re.compile(r"^(\d+) rounds$", re.M)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", default=WAITING)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0)
    asked = parser.parse_args()
    print("| children | rounds without | rounds with / without | each pair |")
    print("|---|---|---|---|")
    for way in asked.ways:
        without, ratios = [], []
        for pair in range(asked.pairs):
            turns = (pair % 2 == 0, pair % 2 == 1)
            made = {sidecar: rounds(way, asked.seconds, sidecar=sidecar) for sidecar in turns}
            without.append(made[False])
            ratios.append(made[True] / made[False])
        each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        middle = statistics.median(ratios)
        print(f"| {way} | {statistics.median(without):,.0f} | {middle:.3f} | {each} |", flush=True)


def rounds(way: str, seconds: float, *, sidecar: bool) -> int:
    """Return how many rounds the parent made."""
    entry = entry_of(way, "calm", "guard", seconds, sidecar=sidecar, pause=0.0)
    with tempfile.TemporaryDirectory() as folder:
        player = Player(Path(folder), jobs=1)
        (playing,) = player.play([entry])
        made = _ROUNDS.search(player.printed(entry))
    if made is None:
        raise SystemExit(f"{way}: {playing.failure}")
    return int(made[1])


if __name__ == "__main__":
    main()
