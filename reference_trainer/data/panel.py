"""The dense panel that every environment and the replay buffer share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reference_trainer.errors import DataError

FORMAT = "reference_trainer.panel/1"


@dataclass(frozen=True)
class NormalizationStats:
    """Mean and standard deviation of each feature over observed training days.

    Both are float32 `[features]`. They never see a day outside `first_day..last_day`.
    """

    mean: np.ndarray
    std: np.ndarray
    first_day: int
    last_day: int


@dataclass(frozen=True)
class Split:
    """Half-open ranges of day indices; training and validation never overlap."""

    train: range
    validation: range


@dataclass(frozen=True)
class Panel:
    """A market as one float32 array `[days, stocks, features]`, opened read-only from disk.

    Days on which a stock has no row keep its last known values (never a later one) and
    are False in `mask`; days before its first row are zero.
    """

    folder: Path
    data_array: np.ndarray
    mask: np.ndarray
    dates: np.ndarray
    features: tuple[str, ...]
    source: str

    @classmethod
    def open(cls, folder: Path) -> Panel:
        """Map an imported panel; raises `DataError` when the folder is not one."""
        meta = _read_meta(folder)
        return cls(
            folder=folder,
            data_array=mapped(folder / "panel.npy"),
            mask=mapped(folder / "mask.npy"),
            dates=np.load(folder / "dates.npy"),
            features=tuple(meta["features"]),
            source=meta["source"],
        )

    @property
    def days(self) -> int:
        """Number of trading days."""
        return int(self.data_array.shape[0])

    @property
    def stocks(self) -> int:
        """Number of stocks."""
        return int(self.data_array.shape[1])

    def feature(self, name: str) -> int:
        """The column of a feature; raises `DataError` when the panel lacks it."""
        if name not in self.features:
            raise DataError(
                f"the panel has no feature {name!r}, only {', '.join(self.features)}: "
                "import a file that has it"
            )
        return self.features.index(name)

    def normalization_stats(self, first_day: int, last_day: int) -> NormalizationStats:
        """Feature mean and std over the observed cells of `first_day <= day < last_day`."""
        count, width = 0, self.data_array.shape[2]
        total, squares = np.zeros(width), np.zeros(width)
        for start in range(first_day, last_day, 64):
            stop = min(start + 64, last_day)
            cells = self.data_array[start:stop][self.mask[start:stop]].astype(np.float64)
            count += len(cells)
            total = total + cells.sum(axis=0)
            squares = squares + (cells**2).sum(axis=0)
        if not count:
            raise DataError(f"no observed cell on training days {first_day} to {last_day}")
        mean = total / count
        std = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        std[std < 1e-8] = 1.0
        return NormalizationStats(
            mean.astype(np.float32), std.astype(np.float32), first_day, last_day
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the same file instead of receiving a copy."""
        return (Panel.open, (self.folder,))


def split_days(
    days: int, *, context_days: int, episode_days: int, validation_days: int, gap_days: int
) -> Split:
    """Cut the panel into training days and, after a gap, validation days at the end.

    Raises `DataError` when either range cannot hold one whole episode (the original's
    validation range was empty and nobody noticed).
    """
    validation = range(days - validation_days, days)
    train = range(context_days, days - validation_days - gap_days)
    for name, span in (("training", train), ("validation", validation)):
        if len(span) <= episode_days:
            raise DataError(
                f"the {name} range has {max(len(span), 0)} days, an episode needs "
                f"{episode_days + 1}: use more days or shorter episodes"
            )
    return Split(train, validation)


def mapped(path: Path) -> np.ndarray:
    """A read-only array over a file; a plain ndarray, which is quicker to slice than a memmap."""
    return np.load(path, mmap_mode="r").view(np.ndarray)


def _read_meta(folder: Path) -> dict[str, Any]:
    path = folder / "panel.json"
    try:
        meta: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise DataError(f"{folder} is not an imported panel: {problem}") from None
    if meta.get("format") != FORMAT:
        raise DataError(f"{path} has format {meta.get('format')!r}, expected {FORMAT!r}")
    return meta
