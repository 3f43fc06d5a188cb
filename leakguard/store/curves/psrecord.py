"""``psrecord --log``: a table of seconds, CPU and memory in MB, which are multiples of 1024**2."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run

_MIB = 1 << 20


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether a file has the heading that psrecord writes."""
    first = start.split(b"\n", 1)[0]
    return first.startswith(b"#") and b"Elapsed time" in first and b"Real (MB)" in first


def read(path: Path) -> list[Run]:
    """Read the memory of the process.

    Raises:
        UnreadableRun: there is no sample.
    """
    return curve_run(path, _points(path), "a log of psrecord")


def _points(path: Path) -> Iterator[Point]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, OverflowError, IndexError):
                values = [float(word) for word in line.split()[:4]]
                metrics = {"rss": round(values[2] * _MIB), "vms": round(values[3] * _MIB)}
                yield Point(metrics, seconds=values[0])
