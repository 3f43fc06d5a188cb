"""The collector: finalisers of cycles must run in the order and depth of unwatched ones."""

import gc
import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


class Member:
    def __init__(self, name):
        self.name, self.others = name, []

    def __del__(self):
        event("del", self.name, depth())


def depth():
    frame, count = sys._getframe(), 0
    while frame is not None:
        count += frame.f_code.co_filename == __file__
        frame = frame.f_back
    return count


def ring(number):
    members = [Member(f"{number}.{index}") for index in range(4)]
    for one in members:
        one.others.extend(members)


gc.disable()
kept = []
with watched() as guard:
    gc.collect()  # what imports have left
    for number in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        ring(number)
        time.sleep(0.05)
        if number % 3 == 2:
            gc.collect()
            event("collected")
event(gc.isenabled(), len(gc.garbage))
