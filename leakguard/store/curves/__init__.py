"""Curves that other tools recorded: memory over time, sometimes by step, and nothing else.

One file a format, which says by the first bytes and the name whether a file is its own. A curve
names no type and no holder; the analysis is the same, and says what it could not see.
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


# How tools call the files that they put into a folder of their own.
_CALLED = ("*.wandb", "*.tfevents.*")


def curve_files(folder: Path) -> list[Path]:
    """Return the files in a folder that are curves by their names."""
    return sorted(path for pattern in _CALLED for path in folder.glob(pattern))


def curve_reader(path: Path, start: bytes) -> Callable[[Path], list[Run]] | None:
    """Return what reads the file, which begins with ``start``; None where no format is its own."""
    return next((read for is_mine, read in _READERS if is_mine(path, start)), None)
