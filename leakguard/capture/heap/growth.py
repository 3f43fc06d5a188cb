"""Growth by path: which containers have more entries, and which buffers more bytes, look by look.

After BLeak (Vilk & Berger, PLDI 2018) and LeakCanary's heap growth: what is compared from look to
look are paths, not objects, so that nothing of the program is kept alive in between.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leakguard.capture.heap.path_tree import PathColumns
from leakguard.capture.streak import Streak

_MOST = 255
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Growth:
    """How a path changed: its entries now, at the look before, and in how many looks it grew.

    ``streak``, ``rest`` and ``gap`` are those of a ``Streak``.
    """

    path: int
    entries: int
    before: int
    streak: int
    rest: int = 0
    gap: int = 0

    @property
    def goes_on(self) -> bool:
        """True while it rests no longer than it did before."""
        return self._growth.goes_on

    def followed_by(self, path: int, now: int, grew: bool) -> Growth:
        """Return how the path has changed when there are ``now`` entries at the next look."""
        later = self._growth.after(grew=grew, fell=now != self.entries)
        return Growth(path, now, self.entries, *later)

    @property
    def _growth(self) -> Streak:
        return Streak(self.streak, self.rest, self.gap)


@dataclass(slots=True)
class PathMemory:
    """Sizes by path, from one look to the next: numbers only, sorted by path key.

    The size of a container is its entries, that of a buffer its bytes. ``looks`` is how many looks
    this memory is made of.
    """

    looks: int = 0
    _keys: array[int] = field(default_factory=lambda: array("q"))
    _sizes: array[int] = field(default_factory=lambda: array("q"))
    _objects: array[int] = field(default_factory=lambda: array("q"))
    _places: array[int] = field(default_factory=lambda: array("Q"))
    _streaks: bytearray = field(default_factory=bytearray)
    _rests: bytearray = field(default_factory=bytearray)
    _gaps: bytearray = field(default_factory=bytearray)

    def after(
        self,
        paths: PathColumns,
        containers: Sequence[int],
        buffers: Sequence[int] = (),
        place: Callable[[int], int] | None = None,
    ) -> tuple[PathMemory, list[Growth]]:
        """Compare with a later look; return the memory of it and what grew in two looks.

        After the first comparison once is enough. Growth may begin at any time of a run, and a
        path may change when a module is imported that is a shorter way to the same container:
        ``place`` tells where the container at a path lies in memory, which says that it is the
        same one.

        A container that has more entries only because there are more containers at its path does
        not grow itself: whatever holds the containers does. The same goes for buffers.
        """
        now, grown = PathMemory(self.looks + 1), []
        places = self._by_place() if place is not None else {}
        sizes = {
            **{p: paths.entries[p] for p in containers},
            **{p: paths.bytes[p] for p in buffers},
        }
        for path in sorted(sizes, key=paths.key.__getitem__):
            here = place(path) if place is not None and paths.objects[path] == 1 else 0
            change = self._change(path, sizes[path], paths, places.get(here))
            now._keep(change, paths, here)
            if change.goes_on and change.streak >= min(self.looks, _ENOUGH):
                grown.append(change)
        return now, grown

    def _keep(self, change: Growth, paths: PathColumns, place: int) -> None:
        self._keys.append(paths.key[change.path])
        self._sizes.append(change.entries)
        self._objects.append(paths.objects[change.path])
        self._places.append(place)
        self._streaks.append(min(change.streak, _MOST))
        self._rests.append(change.rest)
        self._gaps.append(change.gap)

    def _by_place(self) -> dict[int, int]:
        return {place: at for at, place in enumerate(self._places) if place}

    def _change(self, path: int, size: int, paths: PathColumns, moved: int | None) -> Growth:
        key, objects = paths.key[path], paths.objects[path]
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            if moved is None:
                return Growth(path, size, 0, 0)
            at = moved
        before, holders = self._sizes[at], self._objects[at]
        grew = size > before and size * holders > before * objects
        known = Growth(path, before, 0, self._streaks[at], self._rests[at], self._gaps[at])
        return known.followed_by(path, size, grew)
