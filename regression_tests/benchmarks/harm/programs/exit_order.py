"""The end: exit functions, threads and buffers must come to their end in the usual order."""

import atexit
import sys
import threading
import time

from regression_tests.benchmarks.harm.stage import event, watched

ARGUMENTS = ["end", "exit", "error"]


class Sample:
    pass


class Last:
    def __del__(self):
        event("last object", sys.is_finalizing())


def shown(kind, error, traceback):
    event("hook", kind.__name__)


atexit.register(event, "registered before")
sys.excepthook = shown
sys.last = Last()
over = threading.Event()
threading.Thread(target=lambda: (over.wait(), time.sleep(0.2), event("thread over"))).start()
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
atexit.register(event, "registered after")
sys.stdout.write("not flushed")
over.set()
if sys.argv[1] == "exit":
    sys.exit(7)
if sys.argv[1] == "error":
    raise ArithmeticError("its own")
