"""Finalisers: the ``finally`` of a dropped generator must run in the thread that drops it.

What it finds there is that thread's own: a connection, a transaction, a context.
"""

import threading
import time

from regression_tests.benchmarks.harm.stage import watched

own = threading.local()


class Sample:
    pass


def session():
    own.open = getattr(own, "open", 0) + 1
    try:
        yield own.open
    finally:
        try:
            own.open -= 1
        except AttributeError:
            wrong.append("closed in a foreign thread")


def sessions(over):
    while not over.is_set():
        running = session()
        next(running)
        time.sleep(0.0003)
        del running
        if own.open:
            wrong.append("still open")
            own.open = 0


wrong = []
over = threading.Event()
thread = threading.Thread(target=sessions, args=(over,))
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
