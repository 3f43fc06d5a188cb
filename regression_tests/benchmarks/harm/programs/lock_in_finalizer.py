"""Locks: a ``__del__`` that takes the lock of a pool must not run where the pool's owner waits.

The round runs under the program's lock, and a snapshot is taken there; another thread drops things
whose finalizer wants the lock, which is right as long as it runs in that thread.
"""

import threading
import time

from regression_tests.benchmarks.harm.stage import watched

lock = threading.Lock()


class Sample:
    pass


class Lease:
    def __del__(self):
        with lock:
            pass


def leases(over):
    while not over.is_set():
        held = [Lease() for _ in range(20)]
        time.sleep(0.001)
        del held


over = threading.Event()
thread = threading.Thread(target=leases, args=(over,), daemon=True)
thread.start()
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        with lock:
            kept.extend(Sample() for _ in range(500))
            guard.snapshot("in the pool")
        time.sleep(0.05)
over.set()
thread.join()
print("done")
