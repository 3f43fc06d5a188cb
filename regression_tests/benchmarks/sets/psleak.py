"""The leaking functions of psleak's own suite, and their clean twins, in a loop under the guard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.packages.environment import Unbuildable
from regression_tests.benchmarks.playing.entry import OUT, Entry, Unplayable
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.psleak_suite.__main__ import sides
from regression_tests.benchmarks.psleak_suite.cases import Leak
from regression_tests.benchmarks.psleak_suite.suite import Suite, obtain


def _entries() -> Iterator[Entry]:
    for leak, side in sides(()):
        yield Entry(
            "psleak",
            f"{leak.name}-{side}",
            f"{leak.test.partition('.')[0]}.py",
            (_truth(leak),) if side == "leak" else (),
            partial(_command, leak.test, side),
        )


def _truth(leak: Leak) -> Truth:
    return Truth(("call",), leak.types, start=None, kind=tuple(sorted(leak.kinds)))


def _command(test: str, side: str) -> list[str]:
    return _suite().child(test, side, OUT)


@cache
def _suite() -> Suite:
    try:
        return obtain()
    except Unbuildable as reason:
        raise Unplayable(str(reason)) from reason


SETS = (Manifest("psleak", _entries, "psleak's own suite of leaks, in a loop.", ("type", "phase")),)
