"""Finalisers: resources counted down by ``__del__`` must be given back before the next is taken."""

import threading
import time

from regression_tests.benchmarks.harm.stage import watched


class Sample:
    pass


class Slot:
    free = 4

    def __init__(self):
        if not Slot.free:
            wrong.append("no slot is free")
            return
        Slot.free -= 1
        self.taken = True

    def __del__(self):
        Slot.free += getattr(self, "taken", 0)
        if threading.get_ident() != thread.ident:
            wrong.append("given back by a foreign thread")


def slots(over):
    while not over.is_set():
        four = [Slot() for _ in range(4)]
        time.sleep(0.0003)
        del four


wrong = []
over = threading.Event()
thread = threading.Thread(target=slots, args=(over,))
thread.start()
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("wrong:", sorted(set(wrong)))
