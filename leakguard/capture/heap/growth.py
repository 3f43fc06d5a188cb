"""Growth by path: which containers have more entries at every look.

After BLeak (Vilk & Berger, PLDI 2018) and LeakCanary's heap growth: what is compared from look to
look are paths, not objects, so that nothing of the program is kept alive in between.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from leakguard.capture.heap.path_tree import PathColumns

_MOST = 255
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Growth:
    """How a path changed: its entries now, at the look before, and in how many looks it grew."""

    path: int
    entries: int
    before: int
    streak: int


@dataclass(slots=True)
class PathMemory:
    """Entries by path, from one look to the next: numbers only, sorted by path key.

    ``streak`` counts the looks in a row in which a path's containers grew; 0 where they did not.
    ``looks`` is how many looks this memory is made of.
    """

    looks: int = 0
    _keys: array[int] = field(default_factory=lambda: array("q"))
    _entries: array[int] = field(default_factory=lambda: array("q"))
    _objects: array[int] = field(default_factory=lambda: array("q"))
    _streaks: bytearray = field(default_factory=bytearray)

    def after(
        self, paths: PathColumns, containers: Sequence[int]
    ) -> tuple[PathMemory, list[Growth]]:
        """Compare with a later look; return the memory of it and what grew two looks in a row.

        After the first comparison once is enough. Growth may begin at any time of a run, and on
        some Pythons the path of an attribute changes once, when its object gets a ``__dict__``.

        A container that has more entries only because there are more containers at its path does
        not grow itself: whatever holds the containers does.
        """
        now = PathMemory(self.looks + 1)
        grown = []
        order = sorted(containers, key=paths.key.__getitem__)
        for path in order:
            change = self._change(path, paths)
            now._keys.append(paths.key[path])
            now._entries.append(paths.entries[path])
            now._objects.append(paths.objects[path])
            now._streaks.append(min(change.streak, _MOST))
            if change.streak and change.streak >= min(self.looks, _ENOUGH):
                grown.append(change)
        return now, grown

    def _change(self, path: int, paths: PathColumns) -> Growth:
        key, entries, objects = paths.key[path], paths.entries[path], paths.objects[path]
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            return Growth(path, entries, 0, 0)
        before, holders = self._entries[at], self._objects[at]
        grew = entries > before and entries * holders > before * objects
        return Growth(path, entries, before, self._streaks[at] + 1 if grew else 0)
