"""A snapshot in the making: what the blocks of a log say about one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from leakguard.model import Census, Gauge, LargeObject, Snapshot, TypeCount, Watched
from leakguard.store.textlog.label import Place, parse_label

# The names that memory logs use for types every Python program has.
CENSUS_TYPES = {
    "Lists": "list",
    "Dicts": "dict",
    "NumPy arrays": "numpy.ndarray",
    "PyTorch Tensors": "torch.Tensor",
}
_BARE_TYPES = {"ndarray": "numpy.ndarray", "Tensor": "torch.Tensor", "list": "list", "dict": "dict"}


@dataclass(slots=True, eq=False)
class Draft:
    """One moment.

    ``step`` is the bytes that the last printed digit of its RSS stands for, ``round`` the
    generation that another line had announced, ``threshold`` the size of a large object.
    """

    label: str
    place: Place
    step: int = 0
    metrics: dict[str, int | float] = field(default_factory=dict)
    watched: dict[str, Watched] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    large: list[LargeObject] = field(default_factory=list)
    gauges: dict[str, Gauge] = field(default_factory=dict)
    extra: dict[str, list[str]] = field(default_factory=dict)
    time: datetime | None = None
    quoted: bool = False
    round: int | None = None
    threshold: int | None = None

    @classmethod
    def labelled(cls, label: str) -> Draft:
        """Return an empty draft at the place that its label names."""
        return cls(label, parse_label(label))

    @property
    def rss(self) -> int | None:
        """RSS in bytes where the log told."""
        value = self.metrics.get("rss")
        return None if value is None else int(value)

    def has_rss(self, rss: int, step: int) -> bool:
        """True when this moment's RSS is ``rss``, as far as both were printed."""
        own = self.rss
        return own is None or abs(own - rss) <= (self.step + step) / 2 + 1

    def tells_the_same(self, other: Draft) -> bool:
        """True when another block has the same label and the same values."""
        return (self.label, self.metrics, self.watched, self.types, self.gauges) == (
            (other.label, other.metrics, other.watched, other.types, other.gauges)
        )

    def add_count(self, name: str, count: int) -> None:
        """Add the live count of a type, unless a snapshot block already told it."""
        if name in self.watched:
            return
        known = CENSUS_TYPES.get(name) or _BARE_TYPES.get(name)
        if known is None:
            self.watched[name] = Watched(count)
        else:
            self.types.setdefault(known, count)

    def snapshot(self, serial: int, start: datetime | None) -> Snapshot:
        """Return the finished value; ``start`` is the time of the run's first snapshot."""
        types = {name: TypeCount(count) for name, count in self.types.items()}
        census = Census(types, complete=False, large=tuple(self.large))
        return Snapshot(
            serial,
            self.label,
            *self.place,
            seconds=_seconds(start, self.time),
            metrics=self.metrics,
            gauges=self.gauges,
            watched=self.watched,
            census=census if types or self.large else None,
            extra={title: tuple(lines) for title, lines in self.extra.items()},
        )


def _seconds(start: datetime | None, time: datetime | None) -> float | None:
    if start is None or time is None or (start.tzinfo is None) != (time.tzinfo is None):
        return None
    seconds = (time - start).total_seconds()
    return seconds if seconds >= 0 else None
