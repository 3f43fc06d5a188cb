"""Runs of Weights & Biases on disk: ``wandb/offline-run-*/run-*.wandb``.

Such a file is a log in the format of LevelDB (see its doc/log_format.md). Blocks of 32 KiB hold
fragments of records. Before each fragment is a header with its checksum, length and kind. A record
is a protobuf message, which the package wandb decodes. The memory that the program logged, by step,
is preferred; if it logged none, the samples that W&B took of the process are read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from leakguard.errors import UsageError, install
from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run, factor, memory_names
from leakguard.store.spellings import ROUNDS

_MAGIC = b":W&B"
_FILE_HEADER = 7  # bytes: the magic, a number and a version
_RECORD_BLOCK = 32_768  # bytes
_HEADER = struct.Struct("<IHB")  # checksum, length and kind of a fragment
_FULL, _FIRST, _MIDDLE, _LAST = range(1, 5)
# The metrics that W&B samples by itself, each with the bytes in one unit of its values. W&B divides
# psutil's bytes by 1024 twice.
_SAMPLED = {
    "proc.memory.rssMB": ("rss", 1 << 20),
    "gpu.process.0.memoryAllocatedBytes": ("gpu_allocated", 1),
}
_GENERATION = "leakguard/generation"  # our own sink writes this name


@dataclass(slots=True)
class _Records:
    """What the records of a file contain about memory: logged rows and samples."""

    rows: list[Mapping[str, float]] = field(default_factory=list)
    samples: list[Point] = field(default_factory=list)


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether a file begins as W&B files do."""
    return start.startswith(_MAGIC)


def read(path: Path) -> list[Run]:
    """Read the memory that the program logged, else the samples that W&B took of the process.

    Raises:
        UnreadableRun: there is neither.
        UsageError: wandb is not installed.
    """
    told = _read_records(path)
    logged = list(_logged(told.rows))
    names = sorted(memory_names(name for row in told.rows for name in row))
    if logged:
        what = f"the logged {' and '.join(map(repr, names))} of a W&B run"
    else:
        what = "the samples that W&B took of the process"
    return curve_run(path, logged or told.samples, what)


def _read_records(path: Path) -> _Records:
    try:
        from google.protobuf.message import DecodeError
        from wandb.proto.wandb_internal_pb2 import Record
    except ImportError:
        raise UsageError(f"{path} needs wandb: {install('wandb')}") from None
    told = _Records()
    with path.open("rb") as file:
        for content in _records(file):
            try:
                record = Record.FromString(content)
            except DecodeError:  # written by a newer version of wandb
                continue
            _take(record, told)
    return told


def _records(file: BinaryIO) -> Iterator[bytes]:
    """Yield whole records; stop at a record that a killed process left incomplete."""
    file.seek(_FILE_HEADER)
    position, record = _FILE_HEADER, b""
    while True:
        left = _RECORD_BLOCK - position % _RECORD_BLOCK
        if left < _HEADER.size:  # too short for a header: zeros fill the block
            file.seek(left, 1)
            position += left
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        checksum, length, kind = _HEADER.unpack(header)
        fragment = file.read(length)
        if len(fragment) < length or zlib.crc32(bytes([kind]) + fragment) != checksum:
            return
        position += _HEADER.size + length
        record = fragment if kind in (_FULL, _FIRST) else record + fragment
        if kind in (_FULL, _LAST):
            yield record


def _take(record: Any, told: _Records) -> None:
    kind = record.WhichOneof("record_type")
    if kind == "history":
        told.rows.append(dict(_numbers(record.history.item)))
    elif kind == "stats":
        values = dict(_numbers(record.stats.item))
        known = {name: values[name] for name in _SAMPLED if name in values}
        if known:
            sizes = {_SAMPLED[n][0]: round(value * _SAMPLED[n][1]) for n, value in known.items()}
            when = record.stats.timestamp
            told.samples.append(Point(sizes, seconds=when.seconds + when.nanos * 1e-9))


def _numbers(items: Any) -> Iterator[tuple[str, float]]:
    """Yield the numeric values by name; the parts of a nested name are joined by dots."""
    for item in items:
        try:
            value = json.loads(item.value_json)
        except ValueError:
            continue
        if isinstance(value, int | float) and abs(value) < float("inf"):
            yield item.key or ".".join(item.nested_key), value


def _logged(rows: Sequence[Mapping[str, float]]) -> Iterator[Point]:
    """Yield a point for each row with a memory value, in the round that the best counter gives."""
    names = memory_names(dict.fromkeys(name for row in rows for name in row))
    rows = [row for row in rows if any(name in row for name in names)]
    counts = (_GENERATION, *ROUNDS, "_step")
    counted = next((n for n in counts if rows and all(n in row for row in rows)), None)
    for row in rows:
        sizes = {metric: round(row[n] * factor(n)) for n, metric in names.items() if n in row}
        yield Point(sizes, None if counted is None else round(row[counted]), row.get("_timestamp"))
