"""Big heaps: six short rounds beside many objects must stay short, and other threads go on."""

import sys
import time

from regression_tests.benchmarks.harm.stage import watched

HEARTBEAT = True
ARGUMENTS = ["300000", "1000000", "3000000"]
HEAVY = ["1000000", "3000000"]
LIMITS = {"wall_s": (1.1, 7.6), "longest_stop_ms": (1, 100)}


class Sample:
    pass


def heap(count):
    return [[number, str(number)] for number in range(count // 2)] + [
        {"number": number} for number in range(count // 2)
    ]


ballast = heap(int(sys.argv[1]))
kept = []
with watched() as guard:
    for _ in guard.generations(range(6)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
