"""The bytes of single objects, as ``sys.getsizeof`` counts them, without running user code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import MemberDescriptorType
from typing import Any

from leakguard.capture.heap.classes import (
    HAS_GC,
    PRE_HEADER,
    basic_size,
    flags,
    lineage,
    namespace,
)

POINTER = tuple.__itemsize__
GC_HEADER = 2 * POINTER
# Bytes of ctypes data that fit into the object itself; larger data have a block of their own
# (b_value in ctypes.h).
_WITHIN_CTYPES = 16
# From this size in bytes on, the size that an object states is compared with the memory of the
# process. Chosen.
_DOUBTED_FROM = 1_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")
# Bytes of the header of an attribute array. An instance whose ``__dict__`` was never read keeps its
# attributes in such an array, which ``tp_basicsize`` does not include.
_VALUES_HEADER = (3 if sys.version_info >= (3, 13) else 2) * POINTER


def header_size(cls: type) -> int:
    """Return the bytes before an instance: links of the collector, dict and weakref pointers."""
    bits = flags(cls)
    header = GC_HEADER if bits & HAS_GC else 0
    return header + (2 * POINTER if bits & PRE_HEADER else 0)


def hidden_values_size(referents: int, with_dict: bool) -> int:
    """Return the bytes of the attribute array of an instance with this many referents.

    It is 0 for an instance that refers to its class and one dict (``with_dict``), because this has
    a real ``__dict__`` instead of the array.
    """
    values = referents - 1
    if values < 0 or (values == 1 and with_dict):
        return 0
    return _VALUES_HEADER + POINTER * values


def holds_dict(referents: Iterable[object]) -> bool:
    """Return whether one of the referents is exactly a dict, not an instance of a subclass."""
    return any(type(item) is dict for item in referents)


def claim_of(cls: type) -> Callable[[Any], int]:
    """Return a function that sizes an instance of a library's variable-size class.

    The size follows from the field for the number of items, but the library may have written
    something else into that field. If the resulting size is larger than the process's memory, the
    function returns the fixed size of the instance instead.
    """
    return partial(_believed, basic_size(cls))


def _believed(least: int, item: object) -> int:
    size = object.__sizeof__(item)
    return size if size < _DOUBTED_FROM or size <= _most_bytes() else least


def _most_bytes() -> int:
    """Return the bytes of data that this process has mapped, which no object can exceed.

    If they are unknown, return ``sys.maxsize``.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * PAGE
    except (OSError, ValueError, IndexError):
        return sys.maxsize


def block_method(cls: type) -> Callable[[Any], int] | None:
    """Return a function that returns the bytes of a ctypes object's own memory block.

    ``sys.getsizeof`` does not count this block. With the compiled scan the function is all C code.
    The result is None for classes that are not from ctypes.
    """
    for parent in lineage(cls):
        owns = namespace(parent).get("_b_needsfree_")
        if type(owns) is MemberDescriptorType and owns.__objclass__ is parent:
            ctypes = sys.modules.get("_ctypes")
            sizeof = None if ctypes is None else vars(ctypes).get("sizeof")
            return None if sizeof is None else partial(_sizer(), owns, sizeof, _WITHIN_CTYPES)
    return None


def _sizer() -> Callable[..., int]:
    try:
        # Imported here because the scan imports ``layout``, which imports this module.
        from leakguard.capture.heap._scan import block_size
    except ImportError:  # built without a C compiler
        return _block_size
    return block_size


def _block_size(owns: Any, sizeof: Callable[[Any], int], within: int, item: object) -> int:
    # sizeof() is called with the class: from 3.13 on it would read an object's ``__class__``, which
    # may be overridden.
    size = sizeof(type(item)) if owns.__get__(item) else 0
    return size if size > within else 0
