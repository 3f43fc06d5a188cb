"""The lines of a run file: one JSON object each, versioned, read back into the model.

A file is a header line, snapshot lines in order, and an end line when the run finished:

    {"schema": "leakguard.run/1", "run": {...}}
    {"snapshot": {...}}
    {"end": {"snapshots": 150}}

A file that came to its bound holds ``{"thinned": {"stride": 4}}`` behind its header: of what came
before, one generation in four is left, with all looks and extremes.

Fields that hold nothing are left out. Readers ignore fields they do not know, so newer minor
versions stay readable; a higher number after the slash means that they are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leakguard.model import RunInfo, Snapshot

SCHEMA = "leakguard.run/1"


@dataclass(frozen=True)
class Line:
    """One line of a run file; exactly one field beside ``schema`` is set."""

    schema: str | None = None
    run: RunInfo | None = None
    snapshot: Snapshot | None = None
    end: dict[str, float] | None = None
    thinned: dict[str, float] | None = None


_decoder = msgspec.json.Decoder(Line)


def encode_header(info: RunInfo) -> bytes:
    """Return the first line of a run."""
    return _encode({"schema": SCHEMA, "run": _plain(info)})


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the line of one snapshot."""
    return _encode({"snapshot": _plain(snapshot)})


def encode_thinned(stride: int) -> bytes:
    """Return the line that says that one generation in ``stride`` is left."""
    return _encode({"thinned": {"stride": stride}})


def encode_end(snapshots: int, spent: float | None = None) -> bytes:
    """Return the last line of a run that finished; ``spent`` seconds are what the guard cost."""
    cost = {} if spent is None else {"spent": spent}
    return _encode({"end": {"snapshots": snapshots, **cost}})


def decode(line: bytes) -> Line:
    """Read one line back.

    Raises:
        ValueError: the line is cut, is no JSON, does not fit the schema, or is nested too deeply.
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
    except UnicodeEncodeError:  # bytes that no text holds, such as those of a command line
        return msgspec.json.encode(_encodable(line)) + b"\n"


def _plain(value: object) -> Any:
    return _without_nothing(msgspec.to_builtins(value))


_SIMPLE = (int, float, str, bool)


def _without_nothing(value: Any) -> Any:
    """Leave out what holds nothing; numbers, most of what there is, are passed by at once."""
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
    """Write what no UTF-8 holds as escapes."""
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value
