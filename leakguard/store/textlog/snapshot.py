"""The rows of a ``MEMORY SNAPSHOT`` block."""

from __future__ import annotations

import functools
import re

from leakguard.model import Gauge, LargeObject, Watched
from leakguard.store.spellings import NUMBER
from leakguard.store.textlog.block import Block, without_pictograph
from leakguard.store.textlog.line import when
from leakguard.store.textlog.moment import CENSUS_TYPES, Draft
from leakguard.store.textlog.number import (
    parse_bytes,
    parse_count,
    parse_number,
    resolution,
)
from leakguard.store.textlog.record import SECTION, read_record

_ROW = re.compile(r"(\s*)(\S(?:.*\S)?)\s*:\s+(\S.*)")
_EXPECTED = re.compile(
    r"(?:expected|must stay at|should be)\D{0,12}?(\d+)(?:\s*(?:-|–|to)\s*(\d+))?"
)
_CLASS = re.compile(r"[^\W\d][\w.<>\[\], ]*")
_LARGE = re.compile(
    r"\s*(?P<what>\S(?:(?!<-).)*):\s+(?P<size>\S+ \w+)(?:, retains (?P<retained>\S+ \w+))?"
    r"(?:\s+<- held by (?P<held>\S.*))?"
)
_WHAT = re.compile(
    r"(?P<type>\S+)(?: \((?P<shape>[\d, ]*)\))?(?: (?P<dtype>\S+?))?"
    r"(?: on (?P<device>\S+))?"
)
_GAUGE = re.compile(rf"(-?{NUMBER}(?:e[+-]?\d+)?)(?:\s*/\s*(-?{NUMBER}(?:e[+-]?\d+)?))?")
_THRESHOLD = re.compile(r"\(>=\s?([\d.,]{1,20}\s?\w{1,5})\)")
_SIZES = {"rss": "rss", "vms": "vms", "peak": "peak",
          "gpu allocated": "gpu_allocated", "gpu reserved": "gpu_reserved",
          "allocator in use": "heap_in_use", "allocator held free": "heap_held"}  # fmt: skip
# Rows whose names are unique only together with the title of their section.
_SHORT = {("gpu memory", "allocated"): "gpu allocated", ("gpu memory", "reserved"): "gpu reserved",
          ("allocator", "in use"): "allocator in use",
          ("allocator", "held free"): "allocator held free"}  # fmt: skip
_COUNTS = {"threads": "threads", "open files": "open_files"}
_MOST_EXTRA, _LONGEST_EXTRA = 100, 300


def read_snapshot(block: Block) -> Draft | None:
    """Return the moment that a block gives; None if it was cut before its RSS."""
    reader = _Reader(Draft.labelled(block.label))
    for payload, whole in block.lines:
        reader.take(payload, whole)
    draft = reader.draft
    draft.time = when(block.prefix.text)
    draft.quoted, draft.whole = block.quoted, not block.cut
    if reader.packed is not None:
        draft.add_record(read_record(reader.packed))
    return draft if "rss" in draft.metrics else None


class _Reader:
    """Takes the rows in order and tracks the section that they are in."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.packed: list[str] | None = None
        self._section = ""
        self._title = ""
        # Until the RSS row shows otherwise, rows are assumed to be indented, so a line without
        # indentation is a title or noise.
        self._indented = True

    def take(self, payload: str, whole: bool) -> None:
        indent = payload[:1].isspace()
        if indent and self.packed is not None and self._section == SECTION:
            self.packed.append(payload.strip())
            return
        if indent and whole and self._section == "object counts" and self._take_object(payload):
            return
        row = None if payload.endswith(":") else _ROW.fullmatch(payload)
        if row is None or not (indent or not self._indented or self._is_headed(payload)):
            self._take_title(payload, whole)
        elif not self._take_metric(row, whole) and whole:
            self._take_row(payload, row)

    def _is_headed(self, payload: str) -> bool:
        """True for a title with its value on the same line."""
        return _name(payload.partition(":")[0]) in (*_SIZES, *_COUNTS)

    def _take_title(self, payload: str, whole: bool) -> None:
        found = _section_of(payload)
        if found is not None and whole:
            self._title, self._section = found
            if self._section == SECTION:
                self.packed = []
            if self._section == "large objects":
                threshold = _THRESHOLD.search(self._title)
                self.draft.threshold = None if threshold is None else parse_bytes(threshold[1])
        elif payload[:1].isspace() and whole:
            self._take_row(payload, None)

    def _take_metric(self, row: re.Match[str], whole: bool) -> bool:
        if self._section == "object counts" and row[1]:
            return False
        name = _name(row[0].partition(":")[0])
        name = _SHORT.get((self._section, name), name)
        if name in _SIZES:
            return self._take_size(_SIZES[name], row, whole)
        if name in _COUNTS:
            count = parse_count(_bare(row[3]))
            if count is not None and whole:
                self.draft.metrics.setdefault(_COUNTS[name], count)
            return True
        return False

    def _take_size(self, metric: str, row: re.Match[str], whole: bool) -> bool:
        text = _bare(row[3])
        size = parse_bytes(text, whole)
        if size is None or size < 0:
            return True
        self.draft.metrics.setdefault(metric, size)
        if metric == "rss":
            self._indented = bool(row[1])
            self.draft.step = resolution(text)
        return True

    def _take_row(self, payload: str, row: re.Match[str] | None) -> None:
        if self._indented and not payload[:1].isspace():
            return
        section = self._section
        if section == "object counts" and self._take_object(payload):
            return
        if section == "large objects" and self._take_large(payload):
            return
        if section == "gauges" and row is not None and self._take_gauge(row):
            return
        if section == "peak" and row is not None and self._take_size("peak", row, True):
            return
        if section:
            lines = self.draft.extra.setdefault(self._title, [])
            if len(lines) < _MOST_EXTRA:
                lines.append(payload.strip()[:_LONGEST_EXTRA])

    def _take_object(self, payload: str) -> bool:
        found = _object_of(payload)
        if found is None:
            return False
        name, seen = found
        if name in CENSUS_TYPES:
            self.draft.types.setdefault(CENSUS_TYPES[name], seen.count)
        else:
            self.draft.watched.setdefault(name, seen)
        return True

    def _take_large(self, payload: str) -> bool:
        match = _LARGE.fullmatch(payload)
        size = None if match is None else parse_bytes(match["size"])
        what = None if match is None else _WHAT.fullmatch(match["what"])
        if match is None or what is None or size is None:
            return False
        shape = what["shape"]
        self.draft.large.append(
            LargeObject(
                what["type"],
                size,
                None if shape is None else tuple(int(n) for n in re.findall(r"\d{1,18}", shape)),
                what["dtype"],
                what["device"],
                match["held"],
                parse_bytes(match["retained"]) if match["retained"] else None,
            )
        )
        return True

    def _take_gauge(self, row: re.Match[str]) -> bool:
        match = _GAUGE.fullmatch(row[3].strip())
        if match is None:
            return False
        value, capacity = _signed(match[1]), None if match[2] is None else _signed(match[2])
        if value is None:
            return False
        self.draft.gauges.setdefault(row[2], Gauge(value, capacity))
        return True


# Cached: most rows of a block also occur in the block before it.
@functools.lru_cache(maxsize=256)
def _name(text: str) -> str:
    """Return the lower-cased name of a row: ``   RSS (actual RAM)`` is ``rss``.

    Pictographs and brackets are removed.
    """
    name = without_pictograph(text).strip()
    if name.endswith(")"):
        name = name.partition("(")[0].rstrip()
    return name.lower() if name.isascii() and name.replace(" ", "").isalpha() else ""


@functools.lru_cache(maxsize=256)
def _section_of(payload: str) -> tuple[str, str] | None:
    """Return the title and the lower-cased section name of a line such as ``Object Counts:``.

    None if the line is not a title.
    """
    title = without_pictograph(payload).rstrip()
    if not title.endswith(":"):
        return None
    title = title[:-1].strip()
    return (title, title.partition("(")[0].strip().lower()) if title else None


@functools.lru_cache(maxsize=1024)
def _object_of(payload: str) -> tuple[str, Watched] | None:
    row, _, remark = payload.partition("<-")
    name, _, number = row.rpartition(":")
    count = parse_count(_bare(number)) if number[:1].isspace() else None
    name = name.strip()
    if count is None or not (name in CENSUS_TYPES or _CLASS.fullmatch(name)):
        return None
    return name, Watched(count, _expected(remark))


def _bare(value: str) -> str:
    """Return a value without its remark or a change in brackets."""
    return value.partition("<-")[0].partition("(")[0]


def _signed(text: str) -> float | int | None:
    if "e" in text:
        return float(text)
    value = parse_number(text.lstrip("-"))
    return -value if value is not None and text.startswith("-") else value


def _expected(remark: str) -> tuple[int, int] | None:
    match = _EXPECTED.search(remark.lower()) if remark else None
    if match is None:
        return None
    low = int(match[1][:18])
    high = low if match[2] is None else int(match[2][:18])
    return (low, high) if low <= high else None
