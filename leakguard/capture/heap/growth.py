"""Growth by path from look to look: containers that gain entries, and buffers that gain bytes.

The method follows BLeak (Vilk & Berger, PLDI 2018) and LeakCanary's heap growth. Looks are compared
by paths, not by objects, so no object of the program is kept alive between looks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from leakguard.capture.heap.column import Column
from leakguard.capture.heap.path_tree import PathColumns
from leakguard.capture.streak import Streak

_MOST_RISES = 255
_ENOUGH_RISES = 2
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class PathGrowth:
    """How a path changed: its size now and at the previous look, and at which looks it grew.

    Sizes are the entries of a container, or the bytes of a buffer.
    """

    path: int
    entries: int
    before: int
    growth: Streak

    @property
    def streak(self) -> int:
        """The number of looks at which the path grew."""
        return self.growth.times


@dataclass(slots=True)
class PathMemory:
    """Sizes by path that one look leaves for the next, as columns of numbers.

    The size of a container is its number of entries, the size of a buffer its bytes. ``looks`` is
    the number of looks so far.
    """

    looks: int = 0
    _keys: Column = field(default_factory=lambda: Column("q"))
    _sizes: Column = field(default_factory=lambda: Column("q"))
    _objects: Column = field(default_factory=lambda: Column("q"))
    _places: Column = field(default_factory=lambda: Column("Q"))
    _times: bytearray = field(default_factory=bytearray)
    _rests: bytearray = field(default_factory=bytearray)
    _gaps: bytearray = field(default_factory=bytearray)

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the columns."""
        columns = (self._keys, self._sizes, self._objects, self._places)
        return sum(map(sys.getsizeof, (*columns, self._times, self._rests, self._gaps)))

    def after(
        self,
        paths: PathColumns,
        containers: Sequence[int],
        places: Sequence[int],
        buffers: Sequence[int] = (),
    ) -> tuple[PathMemory, list[PathGrowth]]:
        """Compare with a later look; return that look's memory, and the paths that grew.

        Growth must have been seen at two looks; at the first comparison, one is enough.

        The path of a container may change, for example if a newly imported module is a shorter way
        to it. Such a container is recognized by its address. ``places`` are the addresses of the
        containers; 0 if a path has several.

        A path may have more entries only because it has more containers. Then the containers do
        not grow; their holder does. The same applies to buffers.
        """
        seen = [*containers, *buffers]
        sizes = [paths.entries[path] for path in containers]
        sizes += [paths.bytes[path] for path in buffers]
        now = PathMemory(
            self.looks + 1,
            Column("q", map(paths.key.__getitem__, seen)),
            Column("q", sizes),
            Column("q", map(paths.objects.__getitem__, seen)),
            Column("Q", [*places, *bytes(len(buffers))]),
            *(bytearray(len(seen)) for _ in range(3)),
        )
        grown: list[PathGrowth] = []
        if not self.looks:
            return now, grown
        for new, old in enumerate(self._where_before(now)):
            if old == _NOWHERE or (now._sizes[new] == self._sizes[old] and not self._times[old]):
                continue
            streak = self._streak_after(old, now, new)
            now._keep(new, streak)
            if streak.goes_on and streak.times >= min(self.looks, _ENOUGH_RISES):
                grown.append(PathGrowth(seen[new], now._sizes[new], self._sizes[old], streak))
        return now, grown

    def _where_before(self, now: PathMemory) -> Iterator[int]:
        """Yield, for each path of a later look, its index in these columns, or ``_NOWHERE``."""
        by_key = {key: old for old, key in enumerate(self._keys)}
        by_place = {place: old for old, place in enumerate(self._places) if place}
        for key, place in zip(now._keys, now._places, strict=True):
            old = by_key.get(key, _NOWHERE)
            yield by_place.get(place, _NOWHERE) if old == _NOWHERE else old

    def _streak_after(self, old: int, now: PathMemory, new: int) -> Streak:
        before, size = self._sizes[old], now._sizes[new]
        grew = size > before and size * self._objects[old] > before * now._objects[new]
        streak = Streak(self._times[old], self._rests[old], self._gaps[old])
        return streak.after(grew=grew, fell=size != before)

    def _keep(self, new: int, streak: Streak) -> None:
        self._times[new] = min(streak.times, _MOST_RISES)
        self._rests[new] = streak.rest
        self._gaps[new] = streak.gap
