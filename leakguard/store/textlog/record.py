"""What a guard recorded in its log: lines of the run file, as ``render.log_record`` packs them.

A block whose record is missing, cut or garbled is read row by row, as a person reads it.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from leakguard.model import RunInfo, Snapshot
from leakguard.model.brink import Failure
from leakguard.store import schema

SECTION = "record for leakguard report"
_ROW = re.compile(r"[A-Za-z0-9_-]+")
# Most bytes of an unpacked record; what unpacks to more is no record of a guard. Chosen: far above
# the first census of a large program.
_MOST_UNPACKED = 64_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """What a guard recorded: the snapshot of a block and, in a run's first block, its facts."""

    snapshot: Snapshot
    info: RunInfo | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """What ended a run: its end, or the exception that says that memory ran out."""

    finished: bool
    failure: Failure | None


def read_record(rows: Sequence[str]) -> Record | None:
    """Return the record in the rows of a block; None if there is none that can be read."""
    lines = _lines(rows)
    info = next((line.run for line in lines if line.run is not None), None)
    snapshot = next((line.snapshot for line in lines if line.snapshot is not None), None)
    later = any(line.run is not None and line.schema != schema.SCHEMA for line in lines)
    return None if snapshot is None or later else Record(snapshot, info)


def read_closing(text: str) -> Closing | None:
    """Return what a record of its own says; None if it cannot be read."""
    lines = _lines([text])
    failure = next((line.failure for line in lines if line.failure is not None), None)
    return Closing(any(line.end is not None for line in lines), failure) if lines else None


def _lines(rows: Sequence[str]) -> list[schema.Line]:
    try:
        return [schema.decode(line) for line in _unpacked(rows).splitlines()]
    except (ValueError, zlib.error):
        return []


def _unpacked(rows: Sequence[str]) -> bytes:
    text = "".join(row for row in rows if _ROW.fullmatch(row))
    unpacking = zlib.decompressobj()
    lines = unpacking.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)),
                                 _MOST_UNPACKED)  # fmt: skip
    if not unpacking.eof:
        raise ValueError("it is cut, or too long")
    return lines
