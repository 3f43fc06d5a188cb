"""The trend table and the growth block: they repeat moments whose snapshots may be missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from leakguard.model.units import UNITS
from leakguard.store.spellings import NUMBER
from leakguard.store.textlog.block import Block
from leakguard.store.textlog.number import parse_bytes, parse_count, resolution

_SIZE_COLUMN = re.compile(rf"({NUMBER})([KMGTkmgt]i?B)?")
_UNIT_ALONE = re.compile(r"[KMGTkmgt]i?B")
_UNIT = re.compile(r"RAM \((\w{1,3})\)")
_LABEL = re.compile(r"\s*(Baseline|Current):\s+(\S.*)")
_SIZE = re.compile(r"\s*(Baseline|Current):\s+(\S.*)")
# The arrow may be garbled or missing; the difference shows whether both numbers were read right.
_DIFFERENCE = re.compile(r"[+-]\d[\d,]{0,30}\)")
_LONGEST_ARROW = 40


class Row(NamedTuple):
    """A label with its RSS, and the bytes in one unit of its last printed digit."""

    label: str
    rss: int
    step: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The rows of one table; ``from_baseline`` is true if its first row is the run's baseline."""

    rows: tuple[Row, ...]
    from_baseline: bool

    @property
    def baseline(self) -> Row | None:
        """The run's first moment, if the table begins with it."""
        return self.rows[0] if self.from_baseline and self.rows else None

    @property
    def last_labels(self) -> tuple[str, ...]:
        """The labels at the end; they include one of the round that just ended."""
        return tuple(row.label for row in self.rows[-8:])


@dataclass(slots=True)
class Change:
    """One growth block: two moments and the counts at both."""

    before_label: str | None = None
    after_label: str | None = None
    before: Row | None = None
    after: Row | None = None
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def baseline(self) -> Row | None:
        """The moment that growth is measured against."""
        return self.before

    @property
    def last_labels(self) -> tuple[str, ...]:
        """The label of the round that just ended."""
        return () if self.after_label is None else (self.after_label,)


def read_trend(block: Block) -> Trend:
    """Return the rows of a trend table; a row that was cut before its change is left out."""
    unit, from_baseline = "GB", False
    rows: list[Row] = []
    for payload, _ in block.lines:
        if (match := _UNIT.search(payload)) is not None and match[1].lower() in UNITS:
            unit = match[1]
        elif (row := _trend_row(payload, unit)) is not None:
            label, text, change = row
            size = parse_bytes(text)
            if size is not None:
                from_baseline |= not rows and change == "baseline"
                rows.append(Row(label, size, resolution(text)))
    return Trend(tuple(rows), from_baseline)


def read_growth(block: Block) -> Change:
    """Return the content of a growth block; counts that contradict their difference are ignored."""
    change = Change()
    in_sizes = False
    for payload, whole in block.lines:
        if payload.strip() in ("RAM Usage:", "Object Count Changes:"):
            in_sizes = True
        elif not in_sizes and (match := _LABEL.fullmatch(payload)) is not None and whole:
            _add_label(change, match)
        elif (match := _SIZE.fullmatch(payload)) is not None:
            _add_size(change, match, whole)
        elif (count := _count_row(payload)) is not None:
            _add_count(change, *count)
    return change


def _trend_row(payload: str, unit: str) -> tuple[str, str, str] | None:
    """Return label, size and change, parsed from the right because a label may hold anything."""
    words = payload.split()
    change = next((n for n in (1, 2, 3) if n < len(words) and _begins_change(words[-n:])), 0)
    if not change:
        return None
    size = 2 if _UNIT_ALONE.fullmatch(words[-change - 1]) else 1
    match = _SIZE_COLUMN.fullmatch("".join(words[-change - size : -change]))
    label = payload.rsplit(None, change + size)[0].strip()
    if match is None or len(words) <= change + size:
        return None
    return label, f"{match[1]} {match[2] or unit}", words[-change]


def _begins_change(words: Sequence[str]) -> bool:
    first = words[0]
    if first in ("+", "-"):
        return len(words) > 1 and words[1][0].isdigit()
    return words == ["baseline"] or (first[0] in "+-" and first[1].isdigit())


def _count_row(payload: str) -> tuple[str, str, str, str] | None:
    """Return name, both counts and the difference; the arrow, or what replaces it, is skipped."""
    body, _, difference = payload.rstrip().rpartition("(")
    name, colon, numbers = body.rpartition(":")
    columns = numbers.split()
    if not (colon and len(columns) > 1 and _DIFFERENCE.fullmatch(difference)):
        return None
    if len("".join(columns[1:-1])) > _LONGEST_ARROW or not name.strip():
        return None
    return name.strip(), columns[0], columns[-1], difference[:-1]


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
        change.before = Row(change.before_label, size, resolution(match[2]))
    elif match[1] == "Current" and change.after_label:
        change.after = Row(change.after_label, size, resolution(match[2]))


def _add_count(change: Change, name: str, first: str, last: str, difference: str) -> None:
    before, after = parse_count(first), parse_count(last)
    if before is None or after is None:
        return
    if after - before == int(difference.replace(",", "")[:19]):
        change.counts[name] = (before, after)
