"""Self-measurement: with warnings as errors, hooks of unraisable and of threads' exceptions hear the program's own."""

import sys
import threading
import time
import warnings
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

told: list[str] = []
sessions: list[list[str]] = []


class Bad:
    def __del__(self) -> None:
        raise ValueError("in a finalizer")


def worker() -> None:
    raise KeyError("in a thread")


def main() -> None:
    warnings.simplefilter("error")
    sys.unraisablehook = lambda what: told.append(f"unraisable {what.exc_value}")  # type: ignore[assignment]
    threading.excepthook = lambda what: told.append(f"thread {what.exc_value}")  # type: ignore[assignment]
    busy = threading.Event()
    waiter = threading.Thread(target=busy.wait)
    waiter.start()
    with watched() as guard:
        for number in guard.generations(range(20)):
            time.sleep(0.04)  # the work of a round
            bad: Any = Bad()
            del bad
            thread = threading.Thread(target=worker)
            thread.start()
            thread.join()
            sessions.extend([str(number)] * 3 for _ in range(2000))
    busy.set()
    waiter.join()
    print(len(told), sorted(set(told)), warnings.filters[0][0])


main()
