"""What only the collector freed at the end of each generation: objects in reference cycles."""

from __future__ import annotations

import gc
from dataclasses import replace

from leakguard.capture import heap
from leakguard.capture.allocator import allocator_memory
from leakguard.capture.probe import measure
from leakguard.model import Collection, Run

_NOTABLE_BYTES = 1_000_000
_NOTABLE_OBJECTS = 2_000


class Garbage:
    """Collects at the end of each generation, so that garbage is never taken for a live object.

    A generation that leaves much of it makes the next ones say which types it was.
    """

    def __init__(self) -> None:
        self._found: dict[int, Collection] = {}
        self._much = False

    def collect(self, generation: int) -> None:
        """Collect, and keep what was freed where it was much."""
        collection = heap.collect() if self._much else _collect()
        if _is_much(collection):
            self._much = True
            self._found[generation] = collection

    def added_to(self, run: Run) -> Run:
        """Return ``run`` with the collections at the ends of their generations."""
        if not self._found:
            return run
        shots = (
            replace(shot, collection=self._found.get(shot.generation or 0))
            if shot.moment == "generation"
            else shot
            for shot in run.snapshots
        )
        return replace(run, snapshots=tuple(shots))


def _collect() -> Collection:
    before = _in_use()
    freed = gc.collect()
    return Collection(freed, bytes=max(0, before - _in_use()))


def _in_use() -> int:
    return int(measure((("allocator", allocator_memory),)).metrics.get("heap_in_use", 0))


def _is_much(collection: Collection) -> bool:
    return (collection.bytes or 0) >= _NOTABLE_BYTES or collection.freed >= _NOTABLE_OBJECTS
