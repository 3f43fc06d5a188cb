"""Curves that other tools recorded: memory over time, sometimes by step, and nothing else.

Each format has its own file, whose ``is_mine`` recognizes the format by the first bytes and the
name of a file. A curve names no type and no holder. It is analyzed as any run is, and the report
says what could not be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leakguard.model import Run
from leakguard.store.curves import cgroup, columns, mprof, psrecord, tensorboard, wandb

_Reader = tuple[Callable[[Path, bytes], bool], Callable[[Path], list[Run]]]
_READERS: tuple[_Reader, ...] = (
    (wandb.is_mine, wandb.read),
    (tensorboard.is_mine, tensorboard.read),
    (mprof.is_mine, mprof.read),
    (psrecord.is_mine, psrecord.read),
    (cgroup.is_mine, cgroup.read),
    (columns.is_mine, columns.read),
)


# How tools name the files that they put into a folder of their own.
_CALLED = ("*.wandb", "*.tfevents.*")


def curve_files(folder: Path) -> list[Path]:
    """Return the files in a folder whose names are those of curves."""
    return sorted(path for pattern in _CALLED for path in folder.glob(pattern))


def curve_reader(path: Path, start: bytes) -> Callable[[Path], list[Run]] | None:
    """Return what reads a file that begins with ``start``; None if its format is unknown."""
    return next((read for is_mine, read in _READERS if is_mine(path, start)), None)
