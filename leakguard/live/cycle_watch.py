"""Decides when to run the collector, to distinguish garbage in cycles from held objects.

A collection changes what is measured, and a collection at every look would hide the very cycles
that it should reveal. So the collector runs only in two cases: garbage has piled up for several
looks, or a watched class with more instances than expected has been among the garbage for several
looks.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

# Garbage is collected after this many looks at the earliest, because only several looks show that
# it grows. The last look of a run does not wait for them. Chosen.
_LOOKS = 3
# Bytes, and objects, of garbage that are worth a collection. Less is soon freed by automatic
# collections. Chosen.
_NOTABLE_GARBAGE_BYTES = 1_000_000
_NOTABLE_GARBAGE_OBJECTS = 2_000


@dataclass(slots=True)
class CycleWatch:
    """Follows the garbage, the objects that no root reaches, from look to look."""

    _looks: int = 0
    _objects: int = 0
    _bytes: int = 0
    _piled: bool = False
    _too_many: frozenset[str] = frozenset()

    def after(
        self, too_many: frozenset[str], objects: int, size: int, *, last: bool = False
    ) -> bool:
        """Return what ``note`` would, without a change here: the look is taken in a copy."""
        return replace(self).note(too_many, objects, size, last=last)

    def note(
        self, too_many: frozenset[str], objects: int, size: int, *, last: bool = False
    ) -> bool:
        """Record the garbage of one look; return whether its cycles are worth describing.

        If watched classes have ``too_many`` instances, any notable amount of garbage is enough,
        because the collector may run by itself before more has piled up. The ``last`` look decides
        by the garbage since the look before, or by all of it if it is the only look.
        """
        self._looks += 1
        if self._looks == 1:
            self._objects, self._bytes = (0, 0) if last else (objects, size)
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
    """Return whether there is enough garbage that its types are worth a collection."""
    return objects >= _NOTABLE_GARBAGE_OBJECTS or size >= _NOTABLE_GARBAGE_BYTES
