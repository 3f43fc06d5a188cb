"""What the sidecar costs a calm job: rounds that its parent makes with it, over those without.

``python -m regression_tests.benchmarks.job_children.slowdown [--pairs N] [--seconds S] [WAY ...]``
plays each way whose rounds wait for the work of the children, which compute without a pause, in
turn with the sidecar and without. The parent has a guard both times.
"""

from __future__ import annotations

import argparse
import statistics

from regression_tests.benchmarks.job_children.ways import WAYS, play

#: The parent of the others does not wait for what its children do, or makes so many rounds.
WAITING = ("pool", "executor", "loky", "loader", "subproc", "vector", "ray_actors")


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
            made = {}
            for sidecar in (pair % 2 == 0, pair % 2 == 1):
                played = play(way, "calm", "guard", asked.seconds, sidecar=sidecar, pause=0.0)
                made[sidecar] = played.rounds
            without.append(made[False])
            ratios.append(made[True] / made[False])
        each = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        middle = statistics.median(ratios)
        print(
            f"| {WAYS[way]} | {statistics.median(without):,.0f} | {middle:.3f} | {each} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
