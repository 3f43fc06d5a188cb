"""Threads: a program that waits until it is alone must not find a thread of ours."""

import threading
import time

from regression_tests.benchmarks.harm.stage import event, watched

LIMITS = {"longest_wait_s": (1, 0.5)}


class Sample:
    pass


kept = []
longest = 0.0
with watched() as guard:
    for _ in guard.generations(range(12)):
        worker = threading.Thread(target=time.sleep, args=(0.05,))
        worker.start()
        kept.extend(Sample() for _ in range(20_000))
        worker.join()
        event(threading.active_count(), [t.name for t in threading.enumerate()])
event(threading.active_count())
