"""Decides when to run the collector, to tell garbage in cycles from objects that are held.

A collection changes what is measured, and one at every look would hide the very cycles that it
should reveal. So it runs only if garbage has piled up for several looks, or if instances of a
watched class, more than expected, have been among the garbage for several looks.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from leakguard.capture.heap.collector import program_collects

# Looks with growing garbage before it is collected. Chosen.
_LOOKS = 3
# Bytes, and objects, of garbage. The collector soon frees less than this by itself. Chosen.
_NOTABLE_GARBAGE_BYTES = 1_000_000
_NOTABLE_GARBAGE_OBJECTS = 2_000


@dataclass(slots=True)
class CycleWatch:
    """Follows the garbage, the objects that no root leads to, from look to look."""

    _looks: int = 0
    _objects: int = 0
    _bytes: int = 0
    _piled: bool = False
    _too_many: frozenset[str] = frozenset()

    def after(
        self, too_many: frozenset[str], objects: int, size: int, *, last: bool = False
    ) -> bool:
        """Return what ``note`` will, where this look is taken: apart from the process."""
        return replace(self).note(too_many, objects, size, last=last)

    def note(
        self, too_many: frozenset[str], objects: int, size: int, *, last: bool = False
    ) -> bool:
        """Take what one look found adrift; return whether its cycles are worth telling.

        Where watched classes have ``too_many`` instances they are, if much is adrift at all: the
        collector may come by itself before more has piled up. The ``last`` look decides with what
        there is: since the look before, or all of it where no collector was there to take it.
        """
        self._looks += 1
        if self._looks == 1:
            alone = last and not program_collects()
            self._objects, self._bytes = (0, 0) if alone else (objects, size)
        ripe = self._looks >= _LOOKS or last
        self._piled = ripe and is_notable(objects - self._objects, size - self._bytes)
        self._too_many = too_many
        return self._piled or (ripe and bool(too_many) and is_notable(objects, size))

    def calls_for_collection(self, in_cycles: Set[str]) -> bool:
        """Return whether to collect, once the classes in cycles are known."""
        return self._piled or bool(self._too_many & in_cycles)

    def collected(self) -> None:
        """Start over after a collection."""
        self._looks = 0


def is_notable(objects: int, size: int) -> bool:
    """Return whether there is so much garbage that its types are worth a collection."""
    return objects >= _NOTABLE_GARBAGE_OBJECTS or size >= _NOTABLE_GARBAGE_BYTES
