"""Rounds in which Python's small blocks are recorded against those that are left out: CPU time.

A loop that only allocates is played in one process under a record whose allowance is used up, in
rounds of some 20 ms. The median of the recorded rounds is divided by that of the others; what the
slowest of a hundred rounds took, recorded and left out, is told beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time

from regression_tests.benchmarks.births.loops import allocations, objects, through_json
from regression_tests.benchmarks.births.overhead import of_later

_ROUND = 0.02


def times_of(loop, rounds):
    """Return the CPU seconds of the rounds that were recorded, and of those left out."""
    loop()
    began, times = time.process_time(), 0
    while time.process_time() < began + _ROUND:
        loop()
        times += 1
    record = of_later()
    record.start()
    taken: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        record.check()
        record.mark(number, "loop")
        began = time.process_time()
        for _ in range(times):
            loop()
        taken[record._open].append(time.process_time() - began)
    record.stop()
    return taken[True], taken[False]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_500)
    rounds = parser.parse_args().rounds
    print("| loop | rounds recorded | recorded / left out, median | the slowest of 100 |")
    print("|---|---|---|---|")
    for name, loop in (
        ("allocations and nothing else", allocations),
        ("json, dumps and loads", through_json),
        ("objects", objects),
    ):
        recorded, left_out = times_of(loop, rounds)
        median = statistics.median(left_out)
        slowest = [statistics.quantiles(t, n=100)[-1] / median for t in (recorded, left_out)]
        ratio = statistics.median(recorded) / median
        share = len(recorded) / rounds
        print(f"| {name} | {share:.0%} | {ratio:.3f} | {slowest[0]:.2f} and {slowest[1]:.2f} |")


if __name__ == "__main__":
    main()
