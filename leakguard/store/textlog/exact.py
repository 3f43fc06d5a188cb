"""The end of a block of an earlier guard, which wrote numbers to the byte and no ``record``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar, get_args

import msgspec

from leakguard.model import Census, LargeObject, PhaseTotal, Storage, TypeCount
from leakguard.model.births import Birthplace, Cohort
from leakguard.model.holder import Holder
from leakguard.model.metric import METRICS
from leakguard.model.snapshot import Collection, Expectation, Moment, Site
from leakguard.store.textlog.number import LARGEST


@dataclass(frozen=True, slots=True)
class HolderBirthplace:
    """The birthplace of what a holder keeps; a cohort is a row of its five numbers."""

    held_by: str
    place: Birthplace
    cohorts: tuple[tuple[int, int, float, float, int], ...] = ()

    def birthplace(self) -> Birthplace:
        """Return it as the holder has it."""
        return replace(self.place, cohorts=tuple(Cohort(*row) for row in self.cohorts))


Record = LargeObject | Holder | Collection | Expectation | Site | HolderBirthplace
R = TypeVar("R", LargeObject, Holder, Collection, Expectation, Site, HolderBirthplace)

_NUMBERS, _PHASES, _TYPES, _FOUND = SECTIONS = (
    "exact numbers", "phases of this generation", "types changed since the start",
    "found in the heap",
)  # fmt: skip
_RECORDS: dict[str, msgspec.json.Decoder[Record]] = {
    "large": msgspec.json.Decoder(LargeObject),
    "holder": msgspec.json.Decoder(Holder),
    "collection": msgspec.json.Decoder(Collection),
    "expectation": msgspec.json.Decoder(Expectation),
    "site": msgspec.json.Decoder(Site),
    "born": msgspec.json.Decoder(HolderBirthplace),
}
_MOMENTS: dict[str, Moment] = {moment: moment for moment in get_args(Moment)}
_NUMBER = r"-?\d{1,19}(?:\.\d{1,9})?(?:e[+-]\d{1,3})?"
_VALUE = re.compile(rf"({_NUMBER})(?:\((?:([+-]{_NUMBER})|(\?))\))?")
_STORAGE = re.compile(r"(\d{1,18})/(\d{1,18})/(\d{1,18})")
_CHANGE = re.compile(rf"(\w{{1,40}})=([+-]{_NUMBER})")
_TOTAL = re.compile(r"(\d{1,9}) x, (\d{1,12}\.\d{3}) s")
_TYPE = re.compile(
    r"(\d{1,18})\(([+-]\d{1,18})\)(?:,(\d{1,18})\(([+-]\d{1,18})\))?"
    r"(?:,here([+-]\d{1,18})(?:,([+-]\d{1,18}))?)?"
)
_MORE = re.compile(r"and \d{1,9} more")


@dataclass(slots=True)
class Exact:
    """What the exact sections of one block contain.

    ``names`` maps the printed names of watched classes to their full names. ``types`` maps a type
    to its count now and its count in the run's first census. If ``all_types`` is true, types that
    are missing have the same count as in the first census. ``types`` is None if the heap was not
    inspected.
    """

    moment: Moment | None = None
    generation: int | None = None
    taken: int | None = None
    seconds: float | None = None
    began: bool = False
    metrics: dict[str, int | float] = field(default_factory=dict)
    entry: dict[str, int | float] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    phases: dict[str, PhaseTotal] = field(default_factory=dict)
    types: dict[str, tuple[TypeCount, TypeCount]] | None = None
    all_types: bool = True
    change: dict[str, TypeCount] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    found: list[Record] = field(default_factory=list)

    def holders(self) -> tuple[Holder, ...]:
        """Return the holders, each with the birthplaces that are recorded for it."""
        born = self.found_of(HolderBirthplace)
        return tuple(
            replace(holder, born=tuple(b.birthplace() for b in born if b.held_by == holder.path))
            for holder in self.found_of(Holder)
        )

    def census(
        self, types: Mapping[str, TypeCount], large: tuple[LargeObject, ...]
    ) -> Census | None:
        """Return the census of these types, or None if nothing was counted."""
        large = self.found_of(LargeObject) or large
        if not (types or large or self.types is not None):
            return None
        prefix = "tensors:"
        tensors = {k[len(prefix) :]: s for k, s in self.storages.items() if k.startswith(prefix)}
        return Census(
            types, complete=False, large=large, tensors=tensors,
            objects=self.totals.get("live_objects"), bytes=self.totals.get("live_bytes"),
            arrays=self.storages.get("arrays"), mapped=self.storages.get("mapped"),
        )  # fmt: skip

    def take(self, section: str, row: str) -> None:
        """Read a complete row of one of the ``SECTIONS``."""
        if section == _NUMBERS:
            self._take_numbers(row)
        elif section == _PHASES:
            self._take_phase(row)
        elif section == _TYPES:
            self._take_types(row.split("; "))
        else:
            self._take_found(*row.partition(" ")[::2])

    def _take_numbers(self, row: str) -> None:
        short, separator, full = row.partition(" is ")
        if separator and "=" not in short:
            self.names[short] = full
            return
        for token in row.split(" "):
            name, _, value = token.partition("=")
            if name == "moment":
                self.moment = _MOMENTS.get(value)
            elif name == "began":
                self.began = True
            elif (match := _STORAGE.fullmatch(value)) is not None:
                self.storages[name] = Storage(*map(int, match.groups()))
            elif (match := _VALUE.fullmatch(value)) is not None:
                self._take_number(name, match)

    def _take_number(self, name: str, match: re.Match[str]) -> None:
        value = _parsed_number(match[1])
        if name == "generation":
            self.generation = int(value)
        elif name == "taken":
            self.taken = int(value)
        elif name == "seconds":
            self.seconds = float(value)
        elif name in ("live_objects", "live_bytes"):
            self.totals[name] = int(value)
        elif name in METRICS and 0 <= value < LARGEST:
            self.metrics[name] = value
            if self.began and match[3] is None:
                self.entry[name] = value - (_parsed_number(match[2]) if match[2] else 0)

    def _take_phase(self, row: str) -> None:
        name, _, total = row.rpartition(": ")
        match = _TOTAL.fullmatch(total)
        if match is not None:
            self.phases[name] = PhaseTotal(int(match[1]), float(match[2]), {})
        elif self.phases:
            last, begun = self.phases.popitem()
            found = _CHANGE.findall(row)
            change = {metric: _parsed_number(text) for metric, text in found if metric in METRICS}
            self.phases[last] = PhaseTotal(begun.times, begun.seconds, {**begun.change, **change})

    def _take_found(self, kind: str, record: str) -> None:
        if kind in _RECORDS:
            with suppress(ValueError, RecursionError):
                self.found.append(_RECORDS[kind].decode(record))

    def found_of(self, kind: type[R]) -> tuple[R, ...]:
        """Return the records of one kind."""
        return tuple(r for r in self.found if isinstance(r, kind)) if self.found else ()

    def _take_types(self, tokens: Iterable[str]) -> None:
        self.types = {} if self.types is None else self.types
        for token in tokens:
            name, _, numbers = token.rpartition("=")
            match = _TYPE.fullmatch(numbers)
            if name and match is not None:
                self._take_type(name, match)
            elif _MORE.fullmatch(token):
                self.all_types = False

    def _take_type(self, name: str, match: re.Match[str]) -> None:
        now, before = _type_count(match[1], match[3]), _type_count(match[2], match[4])
        size = None if now.bytes is None or before.bytes is None else now.bytes - before.bytes
        if self.types is not None:
            self.types[name] = now, TypeCount(now.count - before.count, size)
        if match[5]:
            self.change[name] = _type_count(match[5], match[6])


def _type_count(count: str, size: str | None) -> TypeCount:
    return TypeCount(int(count), None if size is None else int(size))


def _parsed_number(text: str) -> int | float:
    return float(text) if "." in text or "e" in text else int(text)
