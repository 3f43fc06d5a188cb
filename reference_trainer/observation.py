"""What an agent sees of the market on one day; one place for environment and buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference_trainer.data.panel import NormalizationStats

CLIP = 5.0


@dataclass(frozen=True)
class MarketView:
    """Normalized rows of a shared panel, for many days at once.

    `source` is float32 `[days, stocks, features]`, never copied. `lags` are how many days
    back each row of an observation lies: `(0,)` shows today, `(0, 1, 2)` three days.
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
            np.subtract(self.source[days - lag], self.stats.mean, out=rows)
            rows /= self.stats.std
        np.clip(out, -CLIP, CLIP, out=out)
