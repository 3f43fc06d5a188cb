"""Tells, at a tenth of a census's cost, whether anything was gained since the last census.

A look that would find nothing new need not be taken. The objects that the garbage collector tracks
are counted by class in the process itself. Strings and numbers are not tracked, nor is memory of C
code, but they show in the bytes that the allocators have in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from leakguard.capture import heap
from leakguard.capture.recorder import bytes_in_use
from leakguard.live.gains import GAINED_INSTANCES
from leakguard.live.heights import ARENA, anonymous

_Metrics = Mapping[str, "int | float"]

# Gains below which nothing was gained since the last census: ``_OBJECTS`` objects of builtin types
# together, and ``_BYTES`` bytes in use plus ``_BYTES_PER_GENERATION`` for each generation since.
# Measured in a calm training with torch: up to 15 objects, and 1,000 bytes per generation in the
# first eight. Chosen, the bytes: the least gain of a container that is reported
# (analysis.tolerance).
_OBJECTS, _BYTES, _BYTES_PER_GENERATION = 64, 4_096, 1_024
# The same for the other numbers. Anonymous RSS changes by whole arenas.
_OTHERS = {
    "rss_anonymous": ARENA,
    "gpu_allocated": 0,
    "threads": 0,
    "open_files": 0,
    "children": 0,
}


@dataclass(frozen=True, slots=True)
class _AtCensus:
    """The process at a census: its objects, its bytes in use, and its other numbers."""

    population: bytes
    in_use: int
    others: tuple[float, ...]
    index: int


@dataclass(slots=True)
class Calm:
    """Compares the process with what it was at the last census.

    ``count`` counts the tracked objects by class, and ``gains`` compares two such counts.
    ``unsettled`` is true if ``settle`` is due: the latest census has been taken, and is written by
    now.
    """

    count: Callable[[], bytes | None] = heap.population
    gains: Callable[[bytes, bytes], tuple[int, int]] = heap.gains
    _census: _AtCensus | None = None
    _now: _AtCensus | None = None
    unsettled: bool = False

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the counts."""
        return sum(len(state.population) for state in (self._census, self._now) if state)

    def lasts(self, metrics: _Metrics, own: int, index: int) -> bool:
        """Return whether nothing was gained since the last census; False if that is unknown.

        ``own`` is the memory in bytes that the guard holds for itself, which is no gain.
        """
        before, self._now = self._census, None
        population, in_use = self.count(), bytes_in_use(metrics)
        if population is None or in_use is None:
            return False
        now = self._now = _AtCensus(population, in_use - own, _others(metrics), index)
        return before is not None and self._is_same(before, now)

    def census_taken(self) -> None:
        """Note that a census was taken at the latest moment; later ones are compared with it."""
        self._census, self._now = self._now, None
        self.unsettled = self._census is not None

    def settle(self, metrics: _Metrics, own: int) -> None:
        """Take the numbers after the census was written: what is kept of it is no later gain."""
        self.unsettled = False
        in_use = bytes_in_use(metrics)
        if self._census is not None and in_use is not None:
            self._census = replace(self._census, in_use=in_use - own)

    def _is_same(self, before: _AtCensus, now: _AtCensus) -> bool:
        allowed = _BYTES + _BYTES_PER_GENERATION * (now.index - before.index)
        if now.in_use > before.in_use + allowed or _any_gained(before.others, now.others):
            return False
        instances, others = self.gains(before.population, now.population)
        return instances < GAINED_INSTANCES and others <= _OBJECTS


def _others(metrics: _Metrics) -> tuple[float, ...]:
    told = {**metrics, "rss_anonymous": anonymous(metrics) or 0.0}
    return tuple(told.get(name, 0.0) for name in _OTHERS)


def _any_gained(before: tuple[float, ...], now: tuple[float, ...]) -> bool:
    steps = zip(before, now, _OTHERS.values(), strict=True)
    return any(later > earlier + step for earlier, later, step in steps)
