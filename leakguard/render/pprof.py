"""A report as a pprof file, for ``go tool pprof``, Pyroscope and Parca.

The format is ``profile.proto`` of google/pprof, compressed with gzip. It is written by hand: eight
messages of integers and texts have not changed for years, and the runtime of protobuf would be the
largest dependency of this package.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, TypeVar

from leakguard.model.report import Report
from leakguard.render import outline
from leakguard.render.stacks import WEIGHTS, Stack, StackFrame, stacks
from leakguard.render.text import clean

if TYPE_CHECKING:
    from leakguard.render import Layout

_DEFAULT = "retained_bytes"
_NANO = 10**9
_LONGEST = 2**63 // _NANO  # seconds that fit into a value
_MAPPING = 1  # the only one: a Python program has no address ranges

_Key = TypeVar("_Key", bound=Hashable)


def render(reports: Sequence[Report], layout: Layout) -> bytes:
    """Return the stacks of all reports as one profile; the label ``run`` tells them apart."""
    tables = _Tables()
    samples = [
        tables.sample(stack, {"run": outline.title(report)} if len(reports) > 1 else {})
        for report in reports
        for stack in stacks(report)
    ]
    return gzip.compress(_profile(reports, samples, tables), mtime=0)  # the same bytes each time


def _profile(reports: Sequence[Report], samples: Sequence[bytes], tables: _Tables) -> bytes:
    text = tables.text
    types = [_number(1, text(name)) + _number(2, text(unit)) for name, unit in WEIGHTS.items()]
    mapping = _number(1, _MAPPING) + _number(5, text("python")) + _number(7, 1)
    started, seconds = span(reports)
    comments = [text(comment) for comment in _comments(reports)]
    default = text(_DEFAULT)
    return b"".join((
        _messages(1, types), _messages(2, samples),
        _message(3, mapping + _number(8, 1) + _number(9, 1)),
        _messages(4, tables.locations.values()), _messages(5, tables.functions.values()),
        _messages(6, (string.encode() for string in tables.strings)),
        _number(9, int(started * _NANO)), _number(10, int(seconds * _NANO)),
        _packed(13, comments), _number(14, default),
    ))  # fmt: skip


def span(reports: Sequence[Report]) -> tuple[float, float]:
    """Return when the first run began, in seconds since 1970, and how many seconds it lasted."""
    run = reports[0].run
    lasted = [shot.seconds for shot in run.snapshots if shot.seconds is not None]
    return _epoch(run.info.started), _fitting(max(lasted, default=0.0))


def _epoch(moment: str | None) -> float:
    try:
        parsed = datetime.fromisoformat(moment or "")
        known = parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
        return _fitting(known.timestamp())
    except (ValueError, OverflowError):
        return 0.0


def _fitting(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST - 1) if math.isfinite(seconds) else 0.0


def _comments(reports: Sequence[Report]) -> Iterator[str]:
    from leakguard import __version__

    yield f"leakguard {__version__}"
    for report in reports:
        yield clean(f"{outline.title(report)}: {outline.verdict_line(report)}")
    yield "held by: references from a root; retained_bytes are released when the entries go"
    yield "made at: calls; born_bytes are alive and estimated from sampled allocations"
    yield "growth_bytes are bytes per generation of a finding"


class _Tables:
    """The tables that samples refer to; each entry is written once."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.functions: dict[tuple[str, str], bytes] = {}
        self.locations: dict[StackFrame, bytes] = {}
        self._numbers: dict[object, int] = {}

    def text(self, string: str) -> int:
        """Return the number of a text in the table of strings."""
        return self.strings.setdefault(string, len(self.strings))

    def sample(self, stack: Stack, more: Mapping[str, str]) -> bytes:
        """Return a sample; its innermost frame comes first."""
        labels = {**stack.labels, **more}
        return (
            _packed(1, [self._location(frame) for frame in reversed(stack.frames)])
            + _packed(2, [stack.weights.get(name, 0) for name in WEIGHTS])
            + _messages(3, [_number(1, self.text(key)) + _number(2, self.text(value))
                            for key, value in labels.items()])
        )  # fmt: skip

    def _location(self, frame: StackFrame) -> int:
        def encoded(number: int) -> bytes:
            line = _number(1, self._function(frame)) + _number(2, frame.line)
            return _number(1, number) + _number(2, _MAPPING) + _message(4, line)

        return self._entry(self.locations, frame, encoded)

    def _function(self, frame: StackFrame) -> int:
        def encoded(number: int) -> bytes:
            # Without a system name, no viewer takes the name for one of C++ and cuts its brackets.
            return _number(1, number) + _number(2, self.text(frame.name)) + _number(
                4, self.text(frame.file))  # fmt: skip

        return self._entry(self.functions, (frame.name, frame.file), encoded)

    def _entry(self, table: dict[_Key, bytes], key: _Key, encoded: Callable[[int], bytes]) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(table) + 1
            table[key] = encoded(number)
        return number


# -- the wire format of protobuf -------------------------------------------------------------------


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""  # zero is the default


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _messages(field: int, contents: Iterable[bytes]) -> bytes:
    return b"".join(_message(field, content) for content in contents)


def _packed(field: int, values: Iterable[int]) -> bytes:
    content = b"".join(map(_varint, values))
    return _message(field, content) if content else b""
