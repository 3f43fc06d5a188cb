"""The trend table and the growth block: moments again, in case their snapshots are gone."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from leakguard.model.units import UNITS
from leakguard.store.textlog.block import Block
from leakguard.store.textlog.number import NUMBER, parse_bytes, parse_count, resolution

_ROW = re.compile(rf"\s*(\S.*?)\s+({NUMBER})\s*([KMGTkmgt]i?B)?\s+(baseline|[+-]\s?\d.*)\s*")
_UNIT = re.compile(r"RAM \((\w+)\)")
_LABEL = re.compile(r"\s*(Baseline|Current):\s+(\S.*)")
_SIZE = re.compile(r"\s*(Baseline|Current):\s+(\S+\s*\w+)\s*")
# The arrow may be garbled or gone; the difference tells whether both numbers were read right.
_CHANGE = re.compile(
    rf"\s*(\S.*?)\s*:\s*({NUMBER})\s.{{0,40}}?\s({NUMBER})\s+\(([+-]\d[\d,]*)\)\s*"
)


class Point(NamedTuple):
    """A label with its RSS, and the bytes that the last printed digit stands for."""

    label: str
    rss: int
    step: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The rows of one table; ``from_baseline`` when its first row is a run's baseline."""

    rows: tuple[Point, ...]
    from_baseline: bool

    @property
    def baseline(self) -> Point | None:
        """The run's first moment, where the table begins with it."""
        return self.rows[0] if self.from_baseline and self.rows else None

    @property
    def last_labels(self) -> tuple[str, ...]:
        """The labels at the end, among them one of the round that just ended."""
        return tuple(row.label for row in self.rows[-8:])


@dataclass(slots=True)
class Change:
    """One growth block: two moments and the counts at both."""

    before_label: str | None = None
    after_label: str | None = None
    before: Point | None = None
    after: Point | None = None
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def baseline(self) -> Point | None:
        """The moment that growth is measured against."""
        return self.before

    @property
    def last_labels(self) -> tuple[str, ...]:
        """The label of the round that just ended."""
        return () if self.after_label is None else (self.after_label,)


def read_trend(block: Block) -> Trend:
    """Return the rows of a trend table; a row that was cut before its change is left out."""
    unit, from_baseline = "GB", False
    rows: list[Point] = []
    for payload, _ in block.lines:
        if (match := _UNIT.search(payload)) is not None and match[1].lower() in UNITS:
            unit = match[1]
        elif (match := _ROW.fullmatch(payload)) is not None:
            text = f"{match[2]} {match[3] or unit}"
            size = parse_bytes(text)
            if size is not None:
                from_baseline |= not rows and match[4] == "baseline"
                rows.append(Point(match[1], size, resolution(text)))
    return Trend(tuple(rows), from_baseline)


def read_growth(block: Block) -> Change:
    """Return what a growth block says; only counts that agree with their difference count."""
    change = Change()
    in_sizes = False
    for payload, whole in block.lines:
        if payload.strip() in ("RAM Usage:", "Object Count Changes:"):
            in_sizes = True
        elif not in_sizes and (match := _LABEL.fullmatch(payload)) is not None and whole:
            _add_label(change, match)
        elif (match := _SIZE.fullmatch(payload)) is not None:
            _add_size(change, match, whole)
        elif (match := _CHANGE.fullmatch(payload)) is not None:
            _add_count(change, match)
    return change


def _add_label(change: Change, match: re.Match[str]) -> None:
    if match[1] == "Baseline":
        change.before_label = match[2].strip()
    else:
        change.after_label = match[2].strip()


def _add_size(change: Change, match: re.Match[str], whole: bool) -> None:
    size = parse_bytes(match[2], whole)
    if size is None:
        return
    if match[1] == "Baseline" and change.before_label:
        change.before = Point(change.before_label, size, resolution(match[2]))
    elif match[1] == "Current" and change.after_label:
        change.after = Point(change.after_label, size, resolution(match[2]))


def _add_count(change: Change, match: re.Match[str]) -> None:
    before, after = parse_count(match[2]), parse_count(match[3])
    if before is None or after is None:
        return
    if after - before == int(match[4].replace(",", "")[:19]):
        change.counts[match[1]] = (before, after)
