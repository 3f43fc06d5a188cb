"""The guard's own notes, packed into single bytes objects.

Between the start and the end of a phase the guard keeps a reading and perhaps a census. If they
were dicts and ints, the next census would count these as objects that the phase left behind.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import msgspec

from leakguard.capture.probe import Measurement
from leakguard.model import TypeCount

_counts = msgspec.msgpack.Decoder(dict[str, tuple[int, int]])
_measurement = msgspec.msgpack.Decoder(Measurement)


class PackedMeasurement:
    """A packed measurement, and in ``high_water`` its high-water mark of RSS, unpacked."""

    __slots__ = ("_packed", "high_water")

    def __init__(self, measurement: Measurement) -> None:
        self.high_water = measurement.metrics.get("rss_high_water")
        self._packed = msgspec.msgpack.encode(measurement)

    def unpack(self) -> Measurement:
        """Return the measurement."""
        return _measurement.decode(self._packed)


class PackedCounts:
    """Live objects by type at one moment."""

    __slots__ = ("_packed",)

    def __init__(self, types: Mapping[str, TypeCount]) -> None:
        counts = {name: (entry.count, entry.bytes or 0) for name, entry in types.items()}
        self._packed = msgspec.msgpack.encode(counts)

    @property
    def held_bytes(self) -> int:
        """The memory in bytes that holds the counts."""
        return sys.getsizeof(self._packed)

    def change_to(self, types: Mapping[str, TypeCount]) -> dict[str, TypeCount]:
        """Return the change from these counts to ``types``, for each type that changed."""
        before = _counts.decode(self._packed)
        change = {}
        for name in before.keys() | types.keys():
            count, size = before.get(name, (0, 0))
            later = types.get(name, TypeCount(0, 0))
            difference = TypeCount(later.count - count, (later.bytes or 0) - size)
            if difference.count or difference.bytes:
                change[name] = difference
        return change
