"""Chooses the implementation that walks the heap: the compiled scan, or its twin in pure Python.

The twin is used if the scan was not built or is of another version, or if ``LEAKGUARD_PURE=1`` is
set. It is also used on interpreters without a global interpreter lock, because the scan needs the
lock so that the heap does not change.
"""

from __future__ import annotations

import os
import sysconfig
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leakguard.capture.heap import graph, walk
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.tally import Tally

NAME = "python"
#: Why there is no compiled scan; None if it is in use, or ``LEAKGUARD_PURE=1`` declined it.
WITHOUT_SCAN: str | None = None
tally: Callable[[Frameworks, int], Tally] = walk.tally
instances: Callable[[Frameworks, Callable[[type], bool]], list[Any]] = walk.instances
Graph: Any = graph.Graph
address_of: Callable[[weakref.ref[Any]], int] = walk.address_of

_LIBRARIES = (".so", ".pyd")


def _why_not() -> str:
    """Return why the scan could not be loaded: it is of another version, or was not built."""
    beside = Path(__file__).parent.glob("_scan.*")
    if any(path.suffix in _LIBRARIES for path in beside):
        return "the compiled scan is of another version; reinstall leakguard"
    return "no compiled scan was built; reinstall leakguard from a wheel or with a C compiler"


def _no_population(most: int) -> bytes | None:
    return None


def _no_gains(before: bytes, now: bytes) -> tuple[int, int]:
    return 0, 0


def _no_spare() -> tuple[int, int]:
    return 0, 0


# In pure Python no count is cheap, and what the interpreter keeps for later objects is not seen.
population: Callable[[int], bytes | None] = _no_population
gains: Callable[[bytes, bytes], tuple[int, int]] = _no_gains
spare: Callable[[], tuple[int, int]] = _no_spare


if sysconfig.get_config_var("Py_GIL_DISABLED"):
    WITHOUT_SCAN = "the compiled scan needs an interpreter with a global lock"
elif os.environ.get("LEAKGUARD_PURE") != "1":
    try:
        from leakguard.capture.heap import compiled
    except Exception:  # A scan built for other sources may fail in any way.
        WITHOUT_SCAN = _why_not()
    else:
        NAME, tally, Graph = "compiled", compiled.tally, compiled.CompiledGraph
        instances, address_of = compiled.instances, compiled.address_of
        population, gains, spare = compiled.population, compiled.gains, compiled.spare
