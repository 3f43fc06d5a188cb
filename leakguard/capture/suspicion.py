"""When a look at who holds what is worth its price: something grew two rounds in a row."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from leakguard.model import TypeCount

_ENOUGH = 2
_NOTABLE_BYTES = 65_536

_notes = msgspec.msgpack.Decoder(dict[str, tuple[int, int, int]])


class Suspicion:
    """Follows the counts of the types from one generation's end to the next.

    A type is suspicious once its count, or its bytes by more than a page or two, reached a new
    height in two rounds in a row. The notes are packed, so that they are one object.
    """

    def __init__(self) -> None:
        self._packed = msgspec.msgpack.encode({})
        self._first = True

    def note(self, types: Mapping[str, TypeCount]) -> bool:
        """Take the census of a generation's end; return whether something is suspicious."""
        before = _notes.decode(self._packed)
        after = {}
        for name, entry in types.items():
            count, size = entry.count, entry.bytes or 0
            highest, largest, streak = before.get(name, (0, 0, 0))
            grew = count > highest or size > largest + _NOTABLE_BYTES
            streak = 0 if self._first or not grew else streak + 1
            after[name] = (max(count, highest), max(size, largest), streak)
        self._first = False
        self._packed = msgspec.msgpack.encode(after)
        return any(streak >= _ENOUGH for _, _, streak in after.values())
