"""When it is worth a collection to tell garbage in cycles from objects that somebody holds.

A collection changes what is measured, and one at every look would hide the very cycles it is to
show. So it runs only after objects without a root have piled up for several looks.
"""

from __future__ import annotations

from dataclasses import dataclass

_LOOKS = 3
_NOTABLE_BYTES = 1_000_000
_NOTABLE_OBJECTS = 2_000


@dataclass(slots=True)
class CycleWatch:
    """Follows the objects that no root leads to, from look to look."""

    _looks: int = 0
    _objects: int = 0
    _bytes: int = 0

    def note(self, objects: int, size: int) -> bool:
        """Take what one look found adrift; return whether a collection would tell something."""
        self._looks += 1
        if self._looks == 1:
            self._objects, self._bytes = objects, size
        piled = objects - self._objects >= _NOTABLE_OBJECTS or size - self._bytes >= _NOTABLE_BYTES
        return piled and self._looks >= _LOOKS

    def collected(self) -> None:
        """Begin again after a collection."""
        self._looks = 0
