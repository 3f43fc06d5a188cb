"""The texts that an ``io.StringIO`` holds: up to CPython 3.11 in lists of which no traversal tells.

The place of the lists in the object is found out once, with a buffer of our own: if they are not
there, nothing is read.
"""

from __future__ import annotations

import ctypes
import gc
import io
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from leakguard.capture.heap.classes import derives

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_PROBE = "what was written"


def is_text_buffer(cls: type) -> bool:
    """Return whether instances of a class hold lists that can be read."""
    return derives(cls, io.StringIO) and bool(_places())


def read_text_buffer(buffer: Any) -> tuple[list[object], Iterable[object]]:
    """Return the lists of texts that a buffer holds; it has none once it was read from."""
    slots = (ctypes.c_void_p.from_address(id(buffer) + place).value for place in _places())
    return [ctypes.cast(at, ctypes.py_object).value for at in slots if at], ()


@cache
def _places() -> tuple[int, ...]:
    """Return the offsets of the large and the small list in a buffer; empty if they are unknown."""
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return ()
    probe = io.StringIO()
    probe.write(_PROBE)
    young = {id(one): one for one in gc.get_objects(generation=0) if type(one) is list}
    for place in range(object.__basicsize__ + _POINTER, type(probe).__basicsize__, _POINTER):
        at = ctypes.c_size_t.from_address(id(probe) + place).value
        if young.get(at) == [_PROBE]:
            return place - _POINTER, place
    return ()
