"""Weak references: an entry must leave a weak dictionary as soon as its object is dropped."""

import threading
import time
import weakref

from regression_tests.benchmarks.harm.stage import watched


class Sample:
    pass


def entries(over):
    known, called = weakref.WeakValueDictionary(), []
    while not over.is_set():
        for number in range(10):
            sample = known[number] = Sample()
            reference = weakref.ref(sample, called.append)
            time.sleep(0.0003)
            del sample
            if number in known or reference() is not None or not called:
                wrong.append("alive after its last reference")
            called.clear()


wrong = []
over = threading.Event()
thread = threading.Thread(target=entries, args=(over,))
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
