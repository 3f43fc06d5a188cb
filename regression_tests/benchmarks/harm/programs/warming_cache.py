"""Calm programs: one whose cache warms up and is then full must not pay for a suspicion."""

import time
from functools import lru_cache

from regression_tests.benchmarks.harm.stage import event, watched

LIMITS = {"cpu_s": (1.3, 0.8), "wall_s": (1.3, 0.8)}


@lru_cache(maxsize=4000)
def feature(number):
    return [float(number + index) for index in range(20)]


with watched() as guard:
    for number in guard.generations(range(60)):
        until = time.process_time() + 0.05
        total = 0.0
        for step in range(400):
            total += sum(feature((number * 400 + step) % 3500))
        while time.process_time() < until:
            total += sum(range(1000)) * 0
        event(number, total)
