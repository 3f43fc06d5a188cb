"""The collector: a thread that makes cyclic garbage must not fill the memory while looks last."""

import threading
import time

from regression_tests.benchmarks.harm.stage import watched

HEARTBEAT = True
LIMITS = {"peak_mb": (1.2, 60), "tree_mb": (1.5, 60)}


class Sample:
    pass


class Knot:
    def __init__(self):
        self.itself, self.load = self, bytearray(4000)


def knots(over):
    while not over.is_set():
        for _ in range(20):
            Knot()
        time.sleep(0.0001)


over = threading.Event()
thread = threading.Thread(target=knots, args=(over,))
thread.start()
ballast = [[number] for number in range(1_000_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
