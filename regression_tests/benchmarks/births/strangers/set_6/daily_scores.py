import sys
from collections import OrderedDict
from functools import lru_cache

import numpy as np

from leakguard import LeakGuard

MODE = sys.argv[1]
STOCKS, FACTORS = 1500, 12


class Panel:
    """One day of factor exposures."""

    def __init__(self, day):
        rng = np.random.default_rng(day)
        self.day = day
        self.x = rng.normal(size=(STOCKS, FACTORS))
        self._by_factor = {}

    @lru_cache(maxsize=64 if MODE == "fixed" else None)
    def zscore(self, factor):
        col = self.x[:, factor]
        return (col - col.mean()) / col.std()


class PriceWindow:
    """Last 20 days of ticks, for volatility."""

    def __init__(self, days=20):
        self.days = days
        self.frames = OrderedDict()

    def push(self, day, ticks):
        self.frames[day] = ticks
        if len(self.frames) > self.days:
            self.frames.popitem(last=False)

    def volatility(self):
        return np.mean([np.std(np.diff(t)) for t in self.frames.values()])


class Book:
    def __init__(self):
        self.leaders = {}
        self.curve = np.empty(0)

    def record_leaders(self, day, scores):
        ranked = np.sort(scores)[::-1]
        best = ranked[:16]
        self.leaders[day] = best.copy() if MODE == "fixed" else best

    def record_curve(self, scores):
        grid = np.quantile(scores, np.linspace(0, 1, 1200))
        if MODE == "fixed":
            self.curve = np.concatenate([self.curve, grid])[-2400:]
        else:
            self.curve = np.concatenate([self.curve, grid])

    def summary(self):
        return len(self.leaders), float(self.curve.mean())


def simulate_paths(day, n=60_000):
    rng = np.random.default_rng(1000 + day)
    steps = rng.normal(scale=0.01, size=(12, n // 4))
    return np.exp(steps.cumsum(axis=0))[-1]


def score(panel, vol):
    total = np.zeros(STOCKS)
    for f in range(4):
        total += panel.zscore(f % FACTORS) * (f + 1)
    total += panel.zscore(0)
    return total / (1.0 + vol)


def main():
    window, book = PriceWindow(), Book()
    scratch = np.zeros((4, 15_000))
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for day in guard.generations(range(1, 121)):
            with guard.phase("load"):
                panel = Panel(day)
                window.push(day, np.random.default_rng(day).normal(size=5000).cumsum())
            with guard.phase("score"):
                scores = score(panel, window.volatility())
            with guard.phase("simulate"):
                for k in range(8):
                    scratch[k % 4] = simulate_paths(day * 10 + k)
                sample = scratch.ravel()[:20_000] + scores.mean()
            with guard.phase("book"):
                book.record_leaders(day, sample)
                book.record_curve(scores)
    print("days", *book.summary())


main()
