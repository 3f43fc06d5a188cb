"""Contexts: atexit, finalizers, module objects and unfinished generators end in the order of the program alone."""

import atexit
import sys
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import ExitStack

from regression_tests.benchmarks.harm.stage import watched

kept: list[list[int]] = []


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        say(f"del {self.name}")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def stacked() -> Generator[int, None, None]:
    with ExitStack() as stack:
        for k in range(3):
            stack.callback(say, f"unwound {k}")
        yield 1
        yield 2


atexit.register(say, "atexit first registered")
module_thing = Thing("of the module")
generator = stacked()
next(generator)
finalized = Thing("finalized")
weakref.finalize(finalized, say, "finalize 1")
with watched() as guard:
    for number in guard.generations(range(20)):
        time.sleep(0.04)  # the work of a round
        if number in (5, 10):
            atexit.register(say, f"atexit of round {number}")
            weakref.finalize(finalized, say, f"finalize {number}")
        if number == 12:
            stack = ExitStack()
            stack.callback(say, "stack left open")
            late = stacked()
            next(late)
            del late
        kept.extend([number, k] for k in range(1500))
threading.Thread(target=lambda: (threading.main_thread().join(), say("thread outlived main"))).start()
say("end of the script")
