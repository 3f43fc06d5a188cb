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
    """Sums over arrays, or over tensors, with plain memory.

    ``classes`` has those that are not handed over, with the bytes of all. ``storages`` is the
    number of their memories. ``extents`` has the positions of these, as pairs (start, bytes) in one
    flat sequence sorted by start. It is empty if there are no other arrays or tensors whose memory
    could lie inside.
    """

    classes: Sequence[ClassCount] = ()
    storages: int = 0
    extents: Sequence[int] = ()


NOTHING_OWNED = Owned()


class Tally(NamedTuple):
    """One walk's result; it holds user objects and must not outlive the public call.

    ``arrays`` and ``tensors`` are those that ``of_arrays`` and ``of_tensors`` leave out; the memory
    of a tensor in a backward graph may be in ``of_tensors`` all the same. ``large`` lists (class,
    bytes) of single objects of at least the wanted size. Arrays and tensors are not in it, because
    only the storage adapters know their memory.
    """

    classes: list[ClassCount]
    arrays: list[Any]
    tensors: list[Any]
    large: list[tuple[type, int]]
    of_arrays: Owned = NOTHING_OWNED
    of_tensors: Owned = NOTHING_OWNED
