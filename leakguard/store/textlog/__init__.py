"""Runs out of the text logs that trainers print."""

from __future__ import annotations

from pathlib import Path

from leakguard.model import Run
from leakguard.store.textlog.reading import Reading

__all__ = ["read_runs"]


def read_runs(path: Path) -> list[Run]:
    """Read every run in a text log: one for each process and each restart.

    Raises:
        UnreadableRun: the file is missing, empty, binary, or holds no memory snapshot.
    """
    # One search suffices for blocks; only a log without them is searched for single lines, too.
    seekable = path.is_file()
    reading = Reading(path, single_lines=not seekable)
    if seekable and not reading.complete:
        reading = Reading(path, single_lines=True)
    return reading.runs()
