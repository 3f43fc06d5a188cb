"""The result of either walk: counts by exact class, and objects that need an adapter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class ClassCount(NamedTuple):
    """Instances of exactly one class and the sum of their own sizes in bytes."""

    cls: type
    live: int
    bytes: int


class Owned(NamedTuple):
    """Arrays that own plain memory, as sums.

    ``storages`` is how many have any. ``extents`` has their positions, as pairs (start, bytes) in
    one flat sequence sorted by start; it is empty if nothing else can lie inside.
    """

    classes: Sequence[ClassCount] = ()
    storages: int = 0
    extents: Sequence[int] = ()


NOTHING_OWNED = Owned()


class Tally(NamedTuple):
    """One walk's result; it holds user objects and must not outlive the public call.

    ``arrays`` are those that ``owned`` leaves out.
    ``large`` lists (class, bytes) of single objects at or above the asked size, arrays and tensors
    aside: their memory is known only to the storage adapters.
    """

    classes: list[ClassCount]
    arrays: list[Any]
    tensors: list[Any]
    large: list[tuple[type, int]]
    owned: Owned = NOTHING_OWNED
