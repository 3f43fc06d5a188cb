"""A census kept for comparison, packed so that it does not itself show up as objects."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from leakguard.model import TypeCount

_decoder = msgspec.msgpack.Decoder(dict[str, tuple[int, int]])


class TypeCounts:
    """Live objects by type at one moment, in one bytes object."""

    __slots__ = ("_packed",)

    def __init__(self, types: Mapping[str, TypeCount]) -> None:
        counts = {name: (entry.count, entry.bytes or 0) for name, entry in types.items()}
        self._packed = msgspec.msgpack.encode(counts)

    def change_to(self, types: Mapping[str, TypeCount]) -> dict[str, TypeCount]:
        """Return later minus earlier for each type that changed in number or bytes."""
        before = _decoder.decode(self._packed)
        change = {}
        for name in before.keys() | types.keys():
            count, size = before.get(name, (0, 0))
            later = types.get(name, TypeCount(0, 0))
            difference = TypeCount(later.count - count, (later.bytes or 0) - size)
            if difference.count or difference.bytes:
                change[name] = difference
        return change
