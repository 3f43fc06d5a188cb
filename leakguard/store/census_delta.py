"""A census beside the first one of its run: most types never change, and are written once."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from leakguard.model import Census, Snapshot, TypeCount


class CensusDelta:
    """Leaves out of each census what is as it was in the ``first``; ``whole`` puts it back."""

    def __init__(self) -> None:
        self.first: Census | None = None

    def reduced(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot as it is written; the first one with a census stays as it is."""
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
    """Put back the types that a census left out because they were as in the run's first one."""
    return list(_completed(snapshots))


def _completed(snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
    first: Census | None = None
    for snapshot in snapshots:
        census = snapshot.census
        if census is not None and census.complete:
            first = census  # a second one where an interrupt came before the first was written
        elif census is not None and first is not None:
            snapshot = replace(snapshot, census=_whole(census, first))
        yield snapshot


def _whole(census: Census, first: Census) -> Census:
    # ChainMap shares the first census: thousands of types that never change are kept once. It asks
    # for mutable maps, and nothing here mutates them.
    shared = cast("dict[str, TypeCount]", first.types)
    own = cast("dict[str, TypeCount]", census.types)
    return replace(census, types=ChainMap(own, shared), complete=True)
