"""Writes a census as its difference from the run's first: most types never change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from leakguard.model import Census, Snapshot, TypeCount


class CensusDelta:
    """Omits from a census the types that are as in the ``first`` one; ``whole`` restores them."""

    def __init__(self) -> None:
        self.first: Census | None = None

    def reduced(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot as written; the first snapshot with a census is written in full."""
        census = snapshot.census
        if census is None or not census.complete:
            return snapshot
        if self.first is None:
            self.first = census
            return snapshot
        first = self.first.types
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
