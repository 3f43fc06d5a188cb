"""The collector: where the program has switched it off, it must not run but when it is called."""

import gc
import time

from regression_tests.benchmarks.harm.stage import event, watched

# `leakguard run` has no way to say so.
HOW = ["api"]


class Sample:
    pass


gc.collect()
gc.disable()
before = [each["collections"] for each in gc.get_stats()]
kept = []
with watched(collect="never") as guard:
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        if number % 4 == 3:
            gc.collect()
        after = [each["collections"] for each in gc.get_stats()]
        event(gc.isenabled(), [b - a for a, b in zip(before, after, strict=True)])
