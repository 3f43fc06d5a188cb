"""The bytes of single objects, as ``sys.getsizeof`` counts them, without running user code."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from leakguard.capture.heap.classes import (
    HAS_GC,
    PRE_HEADER,
    flags,
)

POINTER = tuple.__itemsize__
GC_HEADER = 2 * POINTER
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
