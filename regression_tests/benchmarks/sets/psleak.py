"""The leaking functions of psleak's own suite, and their clean twins, in a loop under the guard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.packages.environment import Unbuildable
from regression_tests.benchmarks.playing.entry import OUT, Entry, Unplayable
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.psleak_suite.cases import LEAKS, LOOK_ALIKES, Leak
from regression_tests.benchmarks.psleak_suite.suite import RELEASE, Suite, obtain


def _entries() -> Iterator[Entry]:
    sides = [(leak, side) for leak in LEAKS for side in ("leak", "twin")]
    for leak, side in [*sides, *((leak, "look-alike") for leak in LOOK_ALIKES)]:
        yield Entry(
            "psleak",
            f"{leak.name}-{side}",
            f"{leak.test.partition('.')[0]}.py",
            (_truth(leak),) if side == "leak" else (),
            partial(_command, leak.test, side),
            {"PYTHONPATH": ""},  # its environment has leakguard installed
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


SETS = (
    Manifest(
        "psleak",
        _entries,
        f"psleak's own suite ({RELEASE}), 60 generations of 50 ms. A generation calls a function "
        "so often that about 160 kB are lost, at least twice. Where cycles are the leak, Python's "
        "collector is off; in the twin it is on, and what it takes is no leak.",
        ("type", "phase"),
    ),
)
