"""Reads runs from disk: JSON lines that a guard wrote, run directories, and trainers' text logs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.model.job import Job
from leakguard.store import jsonl

__all__ = ["is_url", "load_job", "load_runs", "run_files"]

_START = 4096  # bytes at the start of a file, from which its format is recognized
_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_url(path: Path | str) -> bool:
    """Return whether a run directory is at a URL, which only fsspec can read."""
    return isinstance(path, str) and _URL.match(path) is not None


def load_job(path: Path | str) -> Job | None:
    """Read the processes of a run directory; None if ``path`` is a file or holds no job.

    Raises:
        UnreadableRun: the URL holds no job, or cannot be reached.
        UsageError: a package that such a URL needs is not installed.
    """
    if not is_url(path):
        from leakguard.store.run_directory import read_job

        return read_job(Path(path)) if Path(path).is_dir() else None
    from leakguard.store.run_directory import fetched_job

    return fetched_job(str(path))


def load_runs(path: Path) -> list[Run]:
    """Read every run under ``path``: a ``.jsonl`` file, a folder, a text log, or a curve.

    Raises:
        UnreadableRun: the path is missing, empty, binary, or holds no snapshot.
    """
    try:
        if path.is_dir():
            return _load_folder(path)
        with path.open("rb") as file:
            start = file.read(_START)
        if jsonl.is_run(start):
            return jsonl.read_runs(path)
        from leakguard.store import curves, textlog

        read = curves.curve_reader(path, start)
        return textlog.read_runs(path) if read is None else read(path)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UnreadableRun(f"cannot read {path}: {reason}") from None


def run_files(folder: Path) -> list[Path]:
    """Return a folder's run files: those of guards, or else the curves of other tools."""
    from leakguard.store import curves

    return sorted(folder.glob("*.jsonl")) or curves.curve_files(folder)


def _load_folder(folder: Path) -> list[Run]:
    files = run_files(folder)
    if not files:
        raise UnreadableRun(
            f"{folder} holds no *.jsonl file; give the file that LeakGuard(out=...) wrote, or a log"
        )
    return [_named_after(run, file) for file in files for run in load_runs(file)]


def _named_after(run: Run, file: Path) -> Run:
    """Return the run with its file's name, unless its program gave it a name."""
    return replace(run, info=replace(run.info, name=run.info.name or str(file)))
