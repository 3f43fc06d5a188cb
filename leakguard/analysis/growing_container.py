"""Containers that have more entries at every look."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.analysis.case import BYTES_FLOOR, Case
from leakguard.analysis.series import judge_series
from leakguard.model import Holder
from leakguard.model.units import format_bytes

_LOOKS = 3
_WEAK = frozenset({"weakref.ReferenceType", "weakref.KeyedRef", "weakref.ProxyType"})
NO_ROOT = "(no root)"


@dataclass(frozen=True, slots=True)
class GrowingContainer:
    """A container whose entries became more from look to look.

    ``retained_rate`` is what its entries keep alive, more each generation.
    """

    holder: Holder
    generations: tuple[int, ...]
    entries: tuple[int, ...]
    retained_rate: float

    @property
    def is_filling(self) -> bool:
        """True for a bounded container; one whose entries keep autograd graphs is not excused."""
        return self.holder.capacity is not None and not self.holder.graph_nodes

    @property
    def is_weak(self) -> bool:
        """True for a container of weak references, which hold nothing."""
        return self.holder.element in _WEAK

    @property
    def rate(self) -> float:
        """Entries more each generation."""
        return (self.entries[-1] - self.entries[0]) / max(self._rounds, 1)

    @property
    def _rounds(self) -> int:
        return self.generations[-1] - self.generations[0]

    def holds(self, path: str) -> bool:
        """True when ``path`` leads through this container."""
        return path != self.holder.path and path.startswith(self.holder.path)


def growing_containers(case: Case) -> list[GrowingContainer]:
    """Return the containers that grew at every look since they were first seen, largest first.

    A container inside another one that grows too is left to the outer one.
    """
    looks: dict[str, list[tuple[int, Holder]]] = {}
    for snapshot in case.run.snapshots:
        if snapshot.generation is not None and snapshot.moment == "generation":
            for holder in snapshot.holders:
                looks.setdefault(holder.path, []).append((snapshot.generation, holder))
    last = max((seen[-1][0] for seen in looks.values()), default=None)
    found = [_growing(seen) for seen in looks.values() if seen[-1][0] == last]
    growing = sorted(filter(None, found), key=lambda c: (c.is_weak, -c.retained_rate))
    return [c for c in growing if not any(other.holds(c.holder.path) for other in growing)]


def _growing(seen: list[tuple[int, Holder]]) -> GrowingContainer | None:
    generations = tuple(generation for generation, _ in seen)
    entries = tuple(holder.entries for _, holder in seen)
    holder = seen[-1][1]
    if len(seen) < _LOOKS or holder.streak < _LOOKS - 1 or holder.path.startswith(NO_ROOT):
        return None
    retained = tuple(float(holder.retained_bytes or 0) for _, holder in seen)
    grows = (
        judge_series(entries, integer=True),
        judge_series(retained, noise_floor=BYTES_FLOOR, describe=format_bytes),
    )
    if holder.capacity is None and all(verdict.growing != "yes" for verdict in grows):
        return None
    first, latest = retained[0], retained[-1]
    rounds = max(generations[-1] - generations[0], 1)
    return GrowingContainer(holder, generations, entries, (latest - first) / rounds)
