"""Depth: a program that works near the recursion limit must not meet ours there."""

import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched

LIMIT, SPARE = 400, 40


class Sample:
    pass


def rounds(guard):
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        with guard.phase("work"):
            time.sleep(0.05)
        event(number)


def deeper(depth, guard):
    if depth:
        return deeper(depth - 1, guard)
    return rounds(guard)


kept = []
with watched() as guard:
    sys.setrecursionlimit(LIMIT)
    deeper(LIMIT - SPARE, guard)
event("over", sys.getrecursionlimit())
