"""Threads: a Tcl interpreter must be freed in the thread that made it, or Tcl aborts."""

import threading
import time
import tkinter

from regression_tests.benchmarks.harm.stage import watched

NEEDS = ["tkinter"]


class Sample:
    pass


def interpreters(over):
    while not over.is_set():
        interpreter = tkinter.Tcl()
        assert interpreter.eval("expr 6 * 7") == "42"
        del interpreter
        time.sleep(0.001)


over = threading.Event()
thread = threading.Thread(target=interpreters, args=(over,))
thread.start()
ballast = [[number] for number in range(200_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(10)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.1)
over.set()
thread.join()
print("done")
