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
# Bytes of a ctypes object that lie in it; more have a block of their own (b_value in ctypes.h).
_WITHIN_CTYPES = 16
# Bytes of one object from which on its size is held against what the process has. Chosen.
_DOUBTED_FROM = 1_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")
# The values of an instance whose __dict__ was never asked for lie outside of tp_basicsize.
_VALUES_HEADER = (3 if sys.version_info >= (3, 13) else 2) * POINTER


def header_size(cls: type) -> int:
    """Return the bytes in front of an instance: collector links, dict and weakref pointers."""
    bits = flags(cls)
    header = GC_HEADER if bits & HAS_GC else 0
    return header + (2 * POINTER if bits & PRE_HEADER else 0)


def hidden_values_size(referents: int, with_dict: bool) -> int:
    """Return the bytes of the attribute array of an instance with this many referents.

    An instance that refers to its class and one dict (``with_dict``) has a real ``__dict__``: 0.
    """
    values = referents - 1
    if values < 0 or (values == 1 and with_dict):
        return 0
    return _VALUES_HEADER + POINTER * values


def holds_dict(referents: Iterable[object]) -> bool:
    """Tell whether one of the referents is exactly a dict."""
    return any(type(item) is dict for item in referents)


def claim_of(cls: type) -> Callable[[Any], int]:
    """Return what sizes an instance of a library's class whose size is said to vary.

    The number of its items is what the library wrote there, which may be no number at all: what
    the process cannot have is none, and the instance has its own size.
    """
    return partial(_believed, basic_size(cls))


def _believed(least: int, item: object) -> int:
    size = object.__sizeof__(item)
    return size if size < _DOUBTED_FROM or size <= _most_bytes() else least


def _most_bytes() -> int:
    """Return the bytes of data that this process has mapped; all that may be, where nobody tells.

    Nothing that lives in it is larger.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * PAGE
    except (OSError, ValueError, IndexError):
        return sys.maxsize


def block_method(cls: type) -> Callable[[Any], int] | None:
    """Return a function that returns the memory block of an instance; only ctypes' have one.

    ``sys.getsizeof`` does not count it. With the compiled scan the function is C code throughout;
    None for all other classes.
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
        # not above: the scan reads the numbers of ``layout``, which needs this file
        from leakguard.capture.heap._scan import block_size
    except ImportError:  # no C compiler was at hand
        return _block_size
    return block_size


def _block_size(owns: Any, sizeof: Callable[[Any], int], within: int, item: object) -> int:
    # Of the class: from 3.13 on, sizeof() reads an object's __class__, which may be overridden.
    size = sizeof(type(item)) if owns.__get__(item) else 0
    return size if size > within else 0
