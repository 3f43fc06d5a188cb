"""Backtest of a mean-reversion rule on simulated minute bars."""
import sys

import numpy as np

# /// truth
# about = "a backtest that keeps the closing row of each day as a view of the whole day"
# [[leak]]
# type = ["ndarray", "list"]
# holder = ["closes"]
# kind = ["arrays", "memory"]
# line = ["day_bars = simulate_day(last)", "closes.append(day_bars[-1])", "return np.exp(np.cumsum(shocks, axis=0)) * last"]
# ///

mode = sys.argv[1]
DAYS, MINUTES, TICKERS = 420, 390, 32
rng = np.random.default_rng(31)


def simulate_day(last):
    shocks = rng.normal(0, 0.0008, (MINUTES, TICKERS))
    shocks -= 0.02 * np.log(last / 100.0) / MINUTES
    return np.exp(np.cumsum(shocks, axis=0)) * last


def trade(bars, window=30):
    kernel = np.ones(window) / window
    pnl = np.zeros(TICKERS)
    for k in range(TICKERS):
        mean = np.convolve(bars[:, k], kernel, mode="valid")
        dev = bars[window - 1:, k] - mean
        spread = dev.std() + 1e-9
        position = 0.0
        for z, now, nxt in zip(dev[:-1] / spread, bars[window - 1:-1, k], bars[window:, k]):
            if z > 1.2:
                position = -1.0
            elif z < -1.2:
                position = 1.0
            elif abs(z) < 0.2:
                position = 0.0
            pnl[k] += position * (nxt - now)
    return pnl


if mode == "leak":
    closes = []
else:
    closes = np.empty((DAYS, TICKERS))
last = np.full(TICKERS, 100.0)
equity = 0.0
for day in range(DAYS):
    day_bars = simulate_day(last)
    equity += sum(trade(day_bars, w).sum() for w in (15, 30, 60)) / 3
    if mode == "leak":
        closes.append(day_bars[-1])
    else:
        closes[day] = day_bars[-1]
    last = closes[day].copy()
    if day % 60 == 59:
        recent = np.asarray(closes[day - 59:day + 1])
        vol = np.diff(np.log(recent), axis=0).std()
        print("day %3d  equity %9.2f  vol %.4f" % (day + 1, equity, vol))
