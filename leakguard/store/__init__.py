"""Runs at rest: JSON lines written by a guard, run folders, and the text logs of trainers."""

from __future__ import annotations

from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store import jsonl

__all__ = ["load_runs"]


def load_runs(path: Path) -> list[Run]:
    """Read every run under ``path``: a ``.jsonl`` file, a folder of them, or a text log.

    Raises:
        UnreadableRun: the path is missing, empty, binary, or holds no snapshot.
    """
    try:
        if path.is_dir():
            return _load_folder(path)
        with path.open("rb") as file:
            start = file.read(len(jsonl.MAGIC))
        if start == jsonl.MAGIC:
            return jsonl.read_runs(path)
        from leakguard.store import textlog

        return textlog.read_runs(path)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UnreadableRun(f"cannot read {path}: {reason}") from None


def _load_folder(folder: Path) -> list[Run]:
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UnreadableRun(
            f"{folder} holds no *.jsonl file; give the file that LeakGuard(out=...) wrote, or a log"
        )
    return [run for file in files for run in jsonl.read_runs(file)]
