"""Play one function of the suite under the guard, in a process of its own.

The suite hands its functions to ``MemoryLeakTestCase.execute``. Here another function stands in its
place, which takes the one that is wanted into a guarded loop. The suite itself stays as it is.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

from regression_tests.benchmarks.leakbench.program import work
from regression_tests.benchmarks.psleak_suite.cases import LEAKS, LOOK_ALIKES, Leak
from regression_tests.benchmarks.psleak_suite.twins import twin_of

GENERATIONS = 60
WORK_MS = 50  # a generation's own work, objects that die at once


class Handed(BaseException):
    """The wanted function was handed over; no ``except Exception`` of the suite stops it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function


def handed_over(test: str, wanted: int) -> Callable[[], object]:
    """Return the n-th function that a test hands to ``execute``.

    Raises:
        LookupError: the test hands over fewer.
    """
    import psleak

    seen = iter(range(wanted + 1))

    def execute(self: object, function: Callable[..., object], *args: object, **_: object) -> None:
        if next(seen) == wanted:
            raise Handed(partial(function, *args) if args else function)
        raise psleak.MemoryLeakError("passed over")  # what the suite expects of a leak

    psleak.MemoryLeakTestCase.execute = execute
    psleak.MemoryLeakTestCase.addCleanup = lambda *_: None  # a list that would grow beside the leak
    module, name, method = test.split(".")
    case = getattr(import_module(f"tests.{module}"), name)(method)
    try:
        getattr(case, method)()
    except Handed as handed:
        return handed.function
    raise LookupError(f"{test} hands over fewer than {wanted + 1} functions")


def play(function: Callable[[], object], calls: int, out: Path) -> None:
    """Call the function in each generation of a guarded loop."""
    from leakguard import LeakGuard

    with LeakGuard(out=out) as guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("work"):
                work(WORK_MS)
            with guard.phase("call"):
                for _ in range(calls):
                    function()


def one_side(leak: Leak, side: str, out: Path) -> None:
    """Play the leak or its clean twin."""
    if side == "leak" and not leak.collects:
        gc.disable()
    if side != "twin" or not leak.collects:
        function = handed_over(leak.test, 0)
    elif leak.twin is not None:
        function = handed_over(leak.test, leak.twin)
    else:
        function = twin_of(leak.test.rpartition(".")[2])
    play(function, leak.calls, out)


def main(source: str, built: str, test: str, side: str, out: str) -> None:
    """Play a side of the leak of that test."""
    sys.path[0:0] = [source, built]
    one_side(next(leak for leak in (*LEAKS, *LOOK_ALIKES) if leak.test == test), side, Path(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # threads that a leak has left behind do not hold it up
