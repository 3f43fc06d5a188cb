"""Runs out of the text logs that trainers print."""

from __future__ import annotations

from pathlib import Path

from leakguard.model import Run
from leakguard.store.textlog.reading import Reading

__all__ = ["read_runs"]

_LARGE = 50_000_000


def read_runs(path: Path) -> list[Run]:
    """Read every run in a text log: one for each process and each restart.

    Raises:
        UnreadableRun: the file is missing, empty, binary, or holds no memory snapshot.
    """
    # In a large log one search must suffice; only without blocks it is searched for lines, too.
    large = path.is_file() and path.stat().st_size > _LARGE
    reading = Reading(path, single_lines=not large)
    if large and not reading.complete:
        reading = Reading(path, single_lines=True)
    return reading.runs()
