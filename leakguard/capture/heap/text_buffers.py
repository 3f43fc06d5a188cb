"""The texts that an ``io.StringIO`` holds: up to CPython 3.11 in lists of which no traversal tells.

The place of the lists in the object is found out once, with a buffer of our own: if they are not
there, nothing is read.
"""

from __future__ import annotations

import ctypes
import io
import sys
import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

from leakguard.capture.heap.classes import derives

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_PROBE = "what was written"
#: The buffers that the guard itself writes to, by identity: no class of the program is asked.
_LEFT_OUT: dict[int, weakref.ref[object]] = {}


def leave_out(buffer: object) -> None:
    """Read nothing of a buffer from now on: what it gains, the guard wrote."""
    if derives(type(buffer), io.StringIO):
        at = id(buffer)
        _LEFT_OUT[at] = weakref.ref(buffer, lambda _: _LEFT_OUT.pop(at, None))


def is_text_buffer(cls: type) -> bool:
    """Return whether instances of a class hold lists that can be read."""
    return derives(cls, io.StringIO) and bool(_places())


def read_text_buffer(buffer: Any) -> tuple[list[object], Iterable[object]]:
    """Return the lists of texts that a buffer holds; it has none once it was read from."""
    if id(buffer) in _LEFT_OUT:
        return [], ()
    slots = (ctypes.c_void_p.from_address(id(buffer) + place).value for place in _places())
    return [ctypes.cast(at, ctypes.py_object).value for at in slots if at], ()


@cache
def _places() -> tuple[int, ...]:
    """Return the offsets of the large and the small list in a buffer; empty if they are unknown.

    The small list is the only field that is set until a part of the text is read, and not after.
    """
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 12):
        return ()
    probe = io.StringIO()
    probe.write(_PROBE)
    written = _fields(probe)
    probe.seek(0)
    probe.read(1)
    dropped = [n for n, (was, now) in enumerate(zip(written, _fields(probe), strict=True))
               if was and not now]  # fmt: skip
    small = dropped[0] * _POINTER if len(dropped) == 1 else 0
    return (small - _POINTER, small) if small else ()


def _fields(probe: io.StringIO) -> list[int]:
    size = io.StringIO.__basicsize__ // _POINTER * _POINTER
    # No array of ctypes: its class would be garbage, which nobody has made but this look.
    return list(memoryview(ctypes.string_at(id(probe), size)).cast("P"))
