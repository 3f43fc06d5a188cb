"""Classes that tell the collector nonsense."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from broken_objects.c_api import POINTER, retain, word_at
from broken_objects.kinds import Look, kind

_VISIT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_TRAVERSE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_KEPT: list[Any] = []


def _traversed_by(tell: Callable[[Any, int, int], int]) -> Any:
    """Make an instance whose class traverses it so; the collector is off in this process."""

    def traverse(item: int, visit: int, argument: int) -> int:
        return tell(_VISIT(visit), argument, item)

    cls = type("Liar", (), {"__slots__": ("part",)})
    called = _TRAVERSE(traverse)
    _KEPT.append(called)
    address = ctypes.cast(called, ctypes.c_void_p).value
    assert address is not None
    word_at(id(cls) + (3 + 20) * POINTER).value = address  # tp_traverse
    made = cls()
    retain(made)
    return made


@kind
def traversal_that_visits_nothing_as_something(look: Look) -> Any:
    return _traversed_by(lambda visit, argument, item: visit(None, argument))


@kind
def traversal_that_fails_without_a_reason(look: Look) -> Any:
    return _traversed_by(lambda visit, argument, item: -1)


@kind
def traversal_that_visits_itself_a_thousand_times(look: Look) -> Any:
    def tell(visit: Any, argument: int, item: int) -> int:
        for _ in range(1000):
            visit(item, argument)
        return 0

    return _traversed_by(tell)
