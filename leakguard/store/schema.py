"""The lines of a run file: one JSON object each, versioned, read back into the model.

A file is a header line, snapshot lines in order, and an end line when the run finished:

    {"schema": "leakguard.run/1", "run": {...}}
    {"snapshot": {...}}
    {"end": {"snapshots": 150}}

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
    """One line of a run file; exactly one of ``run``, ``snapshot`` and ``end`` is set."""

    schema: str | None = None
    run: RunInfo | None = None
    snapshot: Snapshot | None = None
    end: dict[str, int] | None = None


_decoder = msgspec.json.Decoder(Line)


def encode_header(info: RunInfo) -> bytes:
    """Return the first line of a run."""
    return _encode({"schema": SCHEMA, "run": _plain(info)})


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the line of one snapshot."""
    return _encode({"snapshot": _plain(snapshot)})


def encode_end(snapshots: int) -> bytes:
    """Return the last line of a run that finished."""
    return _encode({"end": {"snapshots": snapshots}})


def decode(line: bytes) -> Line:
    """Read one line back.

    Raises:
        ValueError: the line is cut, is no JSON, or does not fit the schema.
    """
    return _decoder.decode(line)


def _encode(line: dict[str, Any]) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _plain(value: object) -> Any:
    return _without_nothing(msgspec.to_builtins(value))


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        stripped = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in stripped.items() if item not in (None, {}, [], ())}
    if isinstance(value, list | tuple):
        return [_without_nothing(item) for item in value]
    return value
