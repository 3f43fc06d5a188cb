"""The live objects of some types, those that the collector does not track included."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from typing import Any

from leakguard.capture.heap.classes import qualified_name

_CHUNK = 20_000


class _Wanted:
    """Classes by id: a metaclass may define its own hash, which must not run."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = frozenset(names)
        self._known: dict[int, bool] = {}

    def __call__(self, item: Any) -> bool:
        cls = type(item)
        known = self._known.get(id(cls))
        if known is None:
            known = self._known[id(cls)] = qualified_name(cls) in self._names
        return known


def live_objects(names: Collection[str]) -> Iterator[Any]:
    """Yield each live object whose exact type has one of these qualified names.

    The caller holds the collector back, and lets go of each object before the next one.
    """
    wanted, seen = _Wanted(names), set[int]()
    tracked = gc.get_objects()
    while tracked:
        chunk = tracked[-_CHUNK:]
        del tracked[-_CHUNK:]
        for item in chunk:
            if wanted(item):
                yield item
        for item in gc.get_referents(*chunk):
            if not gc.is_tracked(item) and wanted(item) and id(item) not in seen:
                seen.add(id(item))
                yield item
        del item
