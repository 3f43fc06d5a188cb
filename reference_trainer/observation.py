"""What an agent sees of the market on one day; one place for environment and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reference_trainer.data.panel import NormalizationStats

CLIP = 5.0


@dataclass(frozen=True)
class MarketView:
    """Normalized rows of a shared panel, for many days at once.

    `source` is float32 `[days, stocks, features]`, never copied. `lags` are how many days
    back each row of an observation lies: `(0,)` shows today, `(0, 5, 10)` a strided window.
    """

    source: np.ndarray
    stats: NormalizationStats
    lags: tuple[int, ...] = (0,)

    @property
    def per_stock(self) -> int:
        """Numbers seen per stock: lags x features."""
        return len(self.lags) * self.source.shape[2]

    @property
    def size(self) -> int:
        """Numbers seen per day: stocks x lags x features."""
        return self.source.shape[1] * self.per_stock

    def write(self, days: np.ndarray, out: np.ndarray) -> None:
        """Write the view of each day into `out` `[len(days), size]`; later rows are never read."""
        stocks, features = self.source.shape[1:]
        cells = out.reshape(len(days), stocks, len(self.lags), features)
        for place, lag in enumerate(self.lags):
            rows = cells[:, :, place]
            rows[...] = self.source[days - lag]
            rows -= self.stats.mean
            rows /= self.stats.std
        np.clip(out, -CLIP, CLIP, out=out)


def window_lags(window: int, stride: int) -> tuple[int, ...]:
    """The lags of a window observation, today first."""
    return tuple(range(0, window * stride, stride))


def causal_features(
    data_array: np.ndarray, close: int, volume: int, keep: Sequence[int]
) -> np.ndarray:
    """Multi-scale features of each day from that day and earlier ones only.

    Log returns over 1, 5, 21, 63 and 252 days, volatility over 21 and 63 days, volume
    against its 21-day mean, and the columns in `keep` as they are: float32
    `[days, stocks, 8 + len(keep)]`. A prefix of the market gives a prefix of the features.
    """
    price = np.log(np.maximum(data_array[..., close].astype(np.float64), 1e-6))
    unseen = data_array[..., close] <= 0
    columns = [_lagged_difference(price, unseen, lag) for lag in (1, 5, 21, 63, 252)]
    columns += [_trailing_std(columns[0], window) for window in (21, 63)]
    activity = np.log1p(data_array[..., volume].astype(np.float64))
    columns.append(activity - _trailing_mean(activity, 21))
    columns += [data_array[..., column] for column in keep]
    return np.stack(columns, axis=-1).astype(np.float32)


def _lagged_difference(values: np.ndarray, unseen: np.ndarray, lag: int) -> np.ndarray:
    change = np.zeros_like(values)
    change[lag:] = np.where(unseen[:-lag], 0.0, values[lag:] - values[:-lag])
    return change


def _trailing_mean(values: np.ndarray, window: int) -> np.ndarray:
    total = np.cumsum(values, axis=0)
    total[window:] = total[window:] - total[:-window]
    return total / np.minimum(np.arange(1, len(values) + 1), window)[:, None]


def _trailing_std(values: np.ndarray, window: int) -> np.ndarray:
    mean = _trailing_mean(values, window)
    return np.sqrt(np.maximum(_trailing_mean(values**2, window) - mean**2, 0.0))
