"""The collector: its callbacks, thresholds, statistics and frozen objects are the program's own."""

import gc
import time

from regression_tests.benchmarks.harm.stage import event, measured, watched

LIMITS = {"young_collections": (1.5, 300), "full_collections": (1, 12)}


class Sample:
    pass


def seen(phase, info):
    if phase == "start":
        collections[info["generation"]] += 1


collections = [0, 0, 0]
gc.collect()
gc.freeze()
frozen = gc.get_freeze_count()
gc.set_threshold(701, 11, 12)
gc.callbacks.append(seen)
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(5000))
        time.sleep(0.05)
        event(gc.isenabled(), gc.get_threshold(), gc.get_debug())
        event(gc.get_freeze_count() > frozen // 2)  # some of what is frozen is freed as usual
        event([callback.__name__ for callback in gc.callbacks])
gc.callbacks.remove(seen)
measured("young_collections", collections[0])
measured("full_collections", collections[2])
event(len(gc.garbage), gc.is_tracked(kept))
