"""The bytes of single objects, as ``sys.getsizeof`` counts them, without running user code."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence

from leakguard.capture.heap.classes import (
    HAS_GC,
    MANAGED_DICT,
    PRE_HEADER,
    basic_size,
    flags,
    item_size,
    size_method,
)

POINTER = tuple.__itemsize__
GC_HEADER = 2 * POINTER
# The values of an instance whose __dict__ was never asked for lie outside of tp_basicsize.
_VALUES_HEADER = (3 if sys.version_info >= (3, 13) else 2) * POINTER
_type_size = type.__sizeof__


def header_size(cls: type) -> int:
    """Return the bytes in front of an instance: collector links, dict and weakref pointers."""
    bits = flags(cls)
    header = GC_HEADER if bits & HAS_GC else 0
    return header + (2 * POINTER if bits & PRE_HEADER else 0)


def has_hidden_values(cls: type) -> bool:
    """Tell whether instances may keep attributes outside of both ``__dict__`` and slots."""
    plain = size_method(cls) is object.__sizeof__ and not item_size(cls)
    return bool(flags(cls) & MANAGED_DICT) and plain


def hidden_values_size(referents: Sequence[object]) -> int:
    """Return the bytes of the attribute array of an instance with these referents.

    An instance that refers to its class and one dict has a real ``__dict__``: 0.
    """
    values = len(referents) - 1
    if values == 1 and any(type(value) is dict for value in referents):
        return 0
    return _VALUES_HEADER + POINTER * values


def sizer_of(cls: type) -> int | Callable[[object], int]:
    """Return the size of every instance of a class, or a function that sizes one."""
    header, method = header_size(cls), size_method(cls)
    if method is _type_size:
        return lambda made: method(made) + (GC_HEADER if gc.is_tracked(made) else 0)
    if method is object.__sizeof__ and not item_size(cls):
        fixed = basic_size(cls) + header
        if not has_hidden_values(cls):
            return fixed
        return lambda instance: fixed + hidden_values_size(gc.get_referents(instance))
    return lambda instance: method(instance) + header


def total_size(cls: type, instances: Sequence[object]) -> int:
    """Return the summed size of instances of exactly this class."""
    sizer = sizer_of(cls)
    if isinstance(sizer, int):
        return sizer * len(instances)
    return sum(map(sizer, instances))
