"""A seeded synthetic market with the habits of a real one, written as Parquet.

Three market regimes, sector and style factors, GARCH volatility with fat tails, late
listings, delistings and halts. `signal_strength` is the correlation of the `score` feature with
what the stock earns of its own on the next day: at 0 the score is noise and nothing can be learnt.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = (
    "open", "high", "low", "close", "volume",
    "return_1", "momentum_21", "volatility_21", "score",
)  # fmt: skip
DAYS_PER_YEAR = 252
SECTORS = 11
STYLES = 4
#: Calm, nervous and crisis: drift and volatility a day.
REGIME_DRIFT = np.array([0.0006, 0.0001, -0.0025])
REGIME_VOLATILITY = np.array([0.006, 0.011, 0.025])
REGIME_STAY = np.array([0.99, 0.97, 0.95])
GARCH_ALPHA, GARCH_BETA = 0.10, 0.85
SCORE_PERSISTENCE = 0.97
LATE_LISTINGS, DELISTINGS, HALTS = 0.25, 0.12, 0.002
FIRST_DAY = np.datetime64("2010-01-04")


def synthetic_name(days: int, stocks: int, seed: int, signal_strength: float) -> str:
    """The file name that says all that decides the content."""
    return f"synthetic_{days}x{stocks}_seed{seed}_signal{signal_strength:g}.parquet"


def write_synthetic_market(
    path: Path, *, days: int, stocks: int, seed: int, signal_strength: float = 0.0
) -> Path:
    """Write a market of `days x stocks x 9` as long Parquet, one row group a year."""
    panel, listed = synthetic_market(days, stocks, seed, signal_strength)
    path.parent.mkdir(parents=True, exist_ok=True)
    dates = _business_days(days)
    symbols = np.array([f"S{i:04d}" for i in range(stocks)])
    with draft_of(path) as draft, pq.ParquetWriter(draft, _schema(), compression="zstd") as writer:
        for start in range(0, days, DAYS_PER_YEAR):
            stop = min(start + DAYS_PER_YEAR, days)
            writer.write_table(_rows(panel, listed, dates, symbols, start, stop))
    return path


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield where to write: `path` appears complete or not at all, whoever else writes it."""
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        yield draft
        draft.replace(path)


def synthetic_market(
    days: int, stocks: int, seed: int, signal_strength: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The market as float32 `[days, stocks, 9]` and its observed cells as bool `[days, stocks]`."""
    rng = np.random.default_rng([seed, days, stocks])
    common = _factor_returns(rng, days, stocks)
    own, volatility = _garch_returns(rng, days, stocks)
    score = _score(rng, days, stocks)
    # The score of day t moves the return of day t + 1: seen first, paid later.
    planted = signal_strength * volatility[1:] * score[:-1]
    own[1:] = np.sqrt(1 - signal_strength**2) * own[1:] + planted
    returns = common + own
    panel = _bars(rng, np.clip(returns, -0.5, 0.5), volatility, score)
    return panel, _listed(rng, days, stocks)


def _factor_returns(rng: np.random.Generator, days: int, stocks: int) -> np.ndarray:
    regime = 0
    market = np.empty(days)
    for day in range(days):
        if rng.random() > REGIME_STAY[regime]:
            regime = int(rng.integers(3))
        shock = rng.standard_t(5) * np.sqrt(3 / 5)
        market[day] = REGIME_DRIFT[regime] + REGIME_VOLATILITY[regime] * shock
    beta = rng.normal(1.0, 0.35, stocks)
    sector = rng.integers(SECTORS, size=stocks)
    sectors = rng.normal(0.0, 0.004, (days, SECTORS))
    styles = rng.normal(0.0, 0.002, (days, STYLES))
    return market[:, None] * beta + sectors[:, sector] + styles @ rng.normal(size=(STYLES, stocks))


def _garch_returns(
    rng: np.random.Generator, days: int, stocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """GARCH(1,1) with Student-t shocks: calm and wild times come in clusters."""
    level = rng.uniform(0.010, 0.025, stocks) ** 2
    variance, returns, volatility = level.copy(), np.empty((days, stocks)), np.empty((days, stocks))
    for day in range(days):
        volatility[day] = np.sqrt(variance)
        shock = np.clip(rng.standard_t(4, stocks) * np.sqrt(2 / 4), -8, 8)
        returns[day] = volatility[day] * shock
        variance = (
            (1 - GARCH_ALPHA - GARCH_BETA) * level
            + GARCH_ALPHA * np.minimum(returns[day] ** 2, 25 * level)
            + GARCH_BETA * variance
        )
    return returns, volatility


def _score(rng: np.random.Generator, days: int, stocks: int) -> np.ndarray:
    score = np.empty((days, stocks))
    score[0] = rng.normal(size=stocks)
    fresh = np.sqrt(1 - SCORE_PERSISTENCE**2)
    for day in range(1, days):
        score[day] = SCORE_PERSISTENCE * score[day - 1] + fresh * rng.normal(size=stocks)
    return score


def _bars(
    rng: np.random.Generator, returns: np.ndarray, volatility: np.ndarray, score: np.ndarray
) -> np.ndarray:
    days, stocks = returns.shape
    start = rng.uniform(10, 200, stocks)
    close = start * np.cumprod(1 + returns, axis=0)
    before = np.vstack([start, close[:-1]])
    open_ = before * (1 + 0.3 * returns + rng.normal(0, 0.15, returns.shape) * volatility)
    reach = np.abs(rng.normal(0, 0.5, (2, days, stocks))) * volatility
    panel = np.empty((days, stocks, len(FEATURES)), dtype=np.float32)
    panel[..., 0], panel[..., 3] = open_, close
    panel[..., 1] = np.maximum(open_, close) * (1 + reach[0])
    panel[..., 2] = np.minimum(open_, close) * (1 - np.minimum(reach[1], 0.5))
    activity = np.log1p(20 * np.abs(returns)) + rng.normal(0, 0.3, returns.shape)
    panel[..., 4] = np.exp(12 + activity)
    panel[..., 5] = returns
    panel[..., 6] = _trailing_mean(returns, 21) * 21
    panel[..., 7] = np.sqrt(_trailing_mean(returns**2, 21))
    panel[..., 8] = score
    return panel


def _trailing_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Mean of the last `window` days up to and including each day."""
    total = np.cumsum(values, axis=0)
    total[window:] = total[window:] - total[:-window]
    count = np.minimum(np.arange(1, len(values) + 1), window)
    return total / count[:, None]


def _listed(rng: np.random.Generator, days: int, stocks: int) -> np.ndarray:
    first = np.where(rng.random(stocks) < LATE_LISTINGS, rng.integers(0, days, stocks), 0)
    last = np.where(rng.random(stocks) < DELISTINGS, rng.integers(0, days, stocks), days)
    first = np.where(last <= first, 0, first)
    first[0], last[0] = 0, days  # every day trades at least one stock
    day = np.arange(days)[:, None]
    halted = rng.random((days, stocks)) < HALTS
    halted[:, 0] = False
    return (day >= first) & (day < np.maximum(last, 1)) & ~halted


def _business_days(days: int) -> np.ndarray:
    return np.busday_offset(FIRST_DAY, np.arange(days), roll="forward")


def _schema() -> pa.Schema:
    symbol = ("symbol", pa.dictionary(pa.int32(), pa.string()))
    return pa.schema([("date", pa.date32()), symbol, *((f, pa.float32()) for f in FEATURES)])


def _rows(
    panel: np.ndarray,
    listed: np.ndarray,
    dates: np.ndarray,
    symbols: np.ndarray,
    start: int,
    stop: int,
) -> pa.Table:
    day, stock = np.nonzero(listed[start:stop])
    columns = [
        pa.array(dates[start + day]).cast(pa.date32()),
        pa.DictionaryArray.from_arrays(pa.array(stock.astype(np.int32)), pa.array(symbols)),
        *(pa.array(panel[start + day, stock, column]) for column in range(len(FEATURES))),
    ]
    return pa.Table.from_arrays(columns, schema=_schema())
