"""The lines of a run file: one JSON object each, versioned, read back into the model.

A file has a header line, then snapshot lines in order, and an end line if the run finished:

    {"schema": "leakguard.run/1", "run": {...}}
    {"snapshot": {...}}
    {"end": {"snapshots": 150}}

A file that reached its size limit holds ``{"thinned": {"stride": 4}}`` after its header: of the
generations up to then, one in four is kept, and all looks and extremes are kept.

If memory ran out by an exception that ended the run, ``{"failure": {"type": "MemoryError"}}`` says
so.

Empty fields are left out. Readers ignore unknown fields, so newer minor versions stay readable; a
file with a higher number after the slash is not readable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leakguard.model import RunInfo, Snapshot
from leakguard.model.brink import Failure

SCHEMA = "leakguard.run/1"


@dataclass(frozen=True)
class Line:
    """One line of a run file; one field is set, but the first line sets ``schema`` and ``run``."""

    schema: str | None = None
    run: RunInfo | None = None
    snapshot: Snapshot | None = None
    end: dict[str, float] | None = None
    thinned: dict[str, float] | None = None
    failure: Failure | None = None


_decoder = msgspec.json.Decoder(Line)


def encode_header(info: RunInfo) -> bytes:
    """Return the first line of a run."""
    return _encode({"schema": SCHEMA, "run": _plain(info)})


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the line of one snapshot."""
    return _encode({"snapshot": _plain(snapshot)})


def encode_thinned(stride: int) -> bytes:
    """Return the line that says that one generation in ``stride`` was kept."""
    return _encode({"thinned": {"stride": stride}})


def encode_failure(failure: Failure) -> bytes:
    """Return the line that says by which exception the run ended."""
    return _encode({"failure": _plain(failure)})


def encode_end(snapshots: int, spent: float | None = None) -> bytes:
    """Return the last line of a finished run; the guard has cost ``spent`` seconds in all."""
    cost = {} if spent is None else {"spent": spent}
    return _encode({"end": {"snapshots": snapshots, **cost}})


def decode(line: bytes) -> Line:
    """Read one line back.

    Raises:
        ValueError: the line is cut, is not JSON, does not fit the schema, or is nested too deeply.
    """
    try:
        read = _decoder.decode(line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if read.snapshot is not None and read.snapshot.serial < 0:
        raise ValueError("its serial number is negative")
    return read


def _encode(line: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # bytes that are not valid text, for example in a command line
        return msgspec.json.encode(_encodable(line)) + b"\n"


def _plain(value: object) -> Any:
    return _without_nothing(msgspec.to_builtins(value))


_SIMPLE = (int, float, str, bool)


def _without_nothing(value: Any) -> Any:
    """Leave out empty values; numbers, which are most of the values, are checked for first."""
    if isinstance(value, dict):
        stripped = {}
        for key, item in value.items():
            if type(item) in _SIMPLE:
                stripped[key] = item
            elif item and (kept := _without_nothing(item)):
                stripped[key] = kept
        return stripped
    if isinstance(value, list | tuple):
        return [_without_nothing(item) for item in value]
    return value


def _encodable(value: Any) -> Any:
    """Replace characters that UTF-8 cannot encode by escapes."""
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
