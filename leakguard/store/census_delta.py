"""Writes a census as its difference from the run's first: most types never change."""

from __future__ import annotations

import sys
from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

import msgspec

from leakguard.model import Census, Snapshot, TypeCount

_censuses = msgspec.msgpack.Decoder(Census)


class CensusDelta:
    """Omits from a census the types that are as in the ``first`` one; ``whole`` restores them.

    ``packed`` is the first census as one object, which a census counts as one; None before it.
    """

    def __init__(self) -> None:
        self.packed: bytes | None = None

    @property
    def first(self) -> Census | None:
        """The first census of the run, unpacked anew."""
        return None if self.packed is None else _censuses.decode(self.packed)

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the first census."""
        return 0 if self.packed is None else sys.getsizeof(self.packed)

    def reduced(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot as written; the first snapshot with a census is written in full."""
        census = snapshot.census
        if census is None or not census.complete:
            return snapshot
        if (begun := self.first) is None:
            self.packed = msgspec.msgpack.encode(census)
            return snapshot
        first = begun.types
        gone = {name: TypeCount(0, 0) for name in first if name not in census.types}
        changed = {name: entry for name, entry in census.types.items() if first.get(name) != entry}
        return replace(snapshot, census=replace(census, types={**changed, **gone}, complete=False))


def whole(snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    """Restore the types that a census omits because they equal the run's first census."""
    return list(_completed(snapshots))


def _completed(snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
    first: Census | None = None
    for snapshot in snapshots:
        census = snapshot.census
        if census is not None and census.complete:
            first = census  # a second complete one: an interrupt came before the first was written
        elif census is not None and first is not None:
            snapshot = replace(snapshot, census=_whole(census, first))
        yield snapshot


def _whole(census: Census, first: Census) -> Census:
    # ChainMap shares the first census, so thousands of types that never change are kept once. Its
    # signature requires mutable maps, although nothing here mutates them.
    shared = cast("dict[str, TypeCount]", first.types)
    own = cast("dict[str, TypeCount]", census.types)
    return replace(census, types=ChainMap(own, shared), complete=True)
