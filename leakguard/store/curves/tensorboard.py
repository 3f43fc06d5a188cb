"""TensorBoard event files: scalars whose tags name memory, by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leakguard.errors import UsageError, install
from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run, factor, memory_names


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether a file is named as TensorBoard names its files."""
    return ".tfevents." in path.name


def read(path: Path) -> list[Run]:
    """Read the scalars that are memory.

    Raises:
        UnreadableRun: no scalar is memory.
        UsageError: tensorboard is not installed.
    """
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    except ImportError:
        raise UsageError(f"{path} needs TensorBoard: {install('tensorboard')}") from None
    scalars = list(_scalars(EventFileLoader(str(path))))
    names = memory_names(dict.fromkeys(tag for tag, _, _, _ in scalars))
    points = [
        Point({names[tag]: round(value * factor(tag))}, step, when)
        for tag, step, when, value in scalars
        if tag in names
    ]
    told = " and ".join(repr(name) for name in names)
    return curve_run(path, points, f"the scalar {told} of a TensorBoard file")


def _scalars(loader: Any) -> Iterator[tuple[str, int, float, float]]:
    """Yield (tag, step, time, value) of scalars, in both formats in which they are written."""
    for event in loader.Load():
        for value in event.summary.value:
            if value.HasField("simple_value"):
                yield value.tag, event.step, event.wall_time, value.simple_value
            elif value.tensor.float_val:
                yield value.tag, event.step, event.wall_time, value.tensor.float_val[0]
