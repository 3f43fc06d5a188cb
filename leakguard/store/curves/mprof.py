"""``mprof run`` of memory_profiler: ``MEM 12.5 1700000000.1`` in MiB, children as ``CHLD n``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run

_MIB = 1 << 20


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether ``mprof run`` wrote a file."""
    return start.startswith((b"CMDLINE ", b"MEM ")) and b"MEM " in start


def read(path: Path) -> list[Run]:
    """Read the memory of the process, and the memory of each child as a separate run.

    Raises:
        UnreadableRun: there is no sample.
    """
    processes: dict[str, list[Point]] = {"": []}
    command = None
    for words in _words(path):
        if words[0] == "CMDLINE":
            command = " ".join(words[1:])
        elif words[0] == "MEM" and len(words) == 3:
            processes[""] += _point(*words[1:])
        elif words[0] == "CHLD" and len(words) == 4:
            processes.setdefault(words[1], []).extend(_point(*words[2:]))
    what = "a file of memory_profiler's mprof"
    return [
        run
        for points in processes.values()
        if points or not any(processes.values())
        for run in curve_run(path, points, what, command)
    ]


def _words(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from (words for line in file if (words := line.split()))


def _point(size: str, time: str) -> list[Point]:
    try:
        return [Point({"rss": round(float(size) * _MIB)}, seconds=float(time))]
    except (ValueError, OverflowError):  # an incomplete line
        return []
