"""The traceback that tracemalloc keeps for one live object."""

from __future__ import annotations

import ctypes
import functools
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any, cast

from leakguard.capture.heap.classes import MANAGED_DICT, flags

Lines = tuple[tuple[str, int], ...]

_POINTER = ctypes.sizeof(ctypes.c_void_p)
# Collector header, and before it the two pointers that stand for an instance's dict.
_HEADERS = 2 * _POINTER + 2 * _POINTER


def origin_of(item: Any) -> Lines | None:
    """Return (file, line) of the frames that made an object, innermost first; None if untraced."""
    if sys.version_info[:2] == (3, 11) and flags(type(item)) & MANAGED_DICT:
        # 3.11 looks for such an object where its collector header begins, not its block.
        return _at_address()(0, id(item) - _HEADERS)
    trace = tracemalloc.get_object_traceback(item)
    return None if trace is None else tuple((f.filename, f.lineno) for f in reversed(trace))


@functools.cache
def _at_address() -> Callable[[int, int], Lines | None]:
    read = ctypes.pythonapi._PyTraceMalloc_GetTraceback
    read.restype, read.argtypes = ctypes.py_object, [ctypes.c_uint, ctypes.c_size_t]
    return cast("Callable[[int, int], Lines | None]", read)
