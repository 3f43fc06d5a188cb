"""The result of the compiled or pure-Python walk: counts by class, and arrays and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class ClassCount(NamedTuple):
    """Instances of exactly one class and the sum of their own sizes in bytes."""

    cls: type
    live: int
    bytes: int


class Owned(NamedTuple):
    """Sums over arrays that own plain memory.

    ``storages`` is the number of such arrays with memory. ``extents`` has the positions of their
    memory, as pairs (start, bytes) in one flat sequence sorted by start. It is empty if there are
    no other arrays or tensors whose memory could lie inside.
    """

    classes: Sequence[ClassCount] = ()
    storages: int = 0
    extents: Sequence[int] = ()


NOTHING_OWNED = Owned()


class Tally(NamedTuple):
    """One walk's result; it holds user objects and must not outlive the public call.

    ``arrays`` are the arrays that ``owned`` leaves out. ``large`` lists (class, bytes) of single
    objects of at least the wanted size. Arrays and tensors are not in it, because only the storage
    adapters know their memory.
    """

    classes: list[ClassCount]
    arrays: list[Any]
    tensors: list[Any]
    large: list[tuple[type, int]]
    owned: Owned = NOTHING_OWNED
