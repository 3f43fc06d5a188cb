"""Day-ahead dispatch of a small distribution feeder: forecast, clear the book, settle."""
import contextlib
import itertools
import logging
import logging.handlers
import os
import sqlite3
import sys
from collections import deque
from functools import lru_cache

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
DAYS = 130
SLOTS, METERS, UNITS = 96, 72, 40
INTRADAY_FROM = 45
RETENTION_DAYS = 6
DAY_SECONDS = 86_400

log = logging.getLogger("feeder.settlement")
log.setLevel(logging.INFO)
log.propagate = False


def configure_logging():
    target = logging.NullHandler() if FIXED else None
    log.addHandler(logging.handlers.MemoryHandler(capacity=150, target=target))


def meter_readings(seed):
    rng = np.random.default_rng(seed)
    base = 1.0 + 0.5 * np.sin(np.linspace(0, 4 * np.pi, SLOTS))[:, None]
    scale = rng.uniform(0.5, 2.0, METERS)
    while True:
        yield base * scale + rng.normal(0, 0.1, (SLOTS, METERS))


@lru_cache(maxsize=64)
def tariff(weekday, block):
    return 0.2 + 0.05 * ((weekday * 7 + block) % 5)


class Forecaster:
    """Ridge regression of the next day's load on the recent days' load."""

    def __init__(self, stream):
        self.live, self.audit = (stream, None) if FIXED else itertools.tee(stream)
        self.window, self.audited = deque(maxlen=28), 0

    def forecast(self, day):
        today = next(self.live)
        self.window.append(today.sum(axis=1))
        if day % 7 == 0:
            self.audited += int(np.isfinite(next(self.audit) if self.audit else today).all())
        past = np.array(self.window)
        lagged = np.stack([np.roll(past, shift, axis=1).ravel() for shift in range(16)], axis=1)
        gram = lagged.T @ lagged + 0.1 * np.eye(16)
        return today, lagged[-SLOTS:] @ np.linalg.solve(gram, lagged.T @ past.ravel())


@contextlib.contextmanager
def order_book(day, load):
    rng = np.random.default_rng(day)
    offers = rng.uniform(10, 60, (SLOTS, UNITS)) + 0.1 * load[:, None]
    volumes = rng.uniform(0.5, 4.0, (SLOTS, UNITS)) * load.mean() / 20
    yield offers, volumes
    offers[:] = 0


class Market:
    def __init__(self):
        self.session = contextlib.ExitStack()
        self.best_day = (float("inf"), None)

    def clear(self, day, load):
        with contextlib.ExitStack() as today:
            stack = today if FIXED else self.session
            prices, welfare = self.match(day, load, *stack.enter_context(order_book(day, load)))
        if welfare < self.best_day[0]:
            self.best_day = (welfare, prices.copy())
        return prices

    def match(self, day, load, offers, volumes):
        prices, welfare = np.empty(SLOTS), 0.0
        for slot in range(SLOTS):
            order = np.argsort(offers[slot])
            filled = np.cumsum(volumes[slot][order])
            marginal = min(np.searchsorted(filled, load[slot]), UNITS - 1)
            prices[slot] = offers[slot, order[marginal]]
            welfare += float(filled[marginal] * prices[slot])
        coupling = np.exp(-np.abs(np.subtract.outer(load, load)))
        coupling /= coupling.sum(axis=1, keepdims=True)
        flows = np.outer(load, prices)
        for _ in range(800):
            flows = coupling @ flows
        if day % 25 == 0:
            welfare += float(np.random.default_rng(day).normal(load, 0.5, (6000, SLOTS)).max(axis=1).mean())
        return prices, welfare + float(flows.mean())


class Ledger:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.executescript("CREATE TABLE trades (ts INTEGER, slot INTEGER, unit INTEGER, price REAL);"
                              "CREATE INDEX trades_by_ts ON trades (ts);")

    def trade(self, day, prices):
        rows = ((day * DAY_SECONDS + slot * 900, slot, unit, float(prices[slot]) + 0.01 * unit)
                for slot in range(SLOTS) for unit in range(16))
        self.db.executemany("INSERT INTO trades VALUES (?, ?, ?, ?)", rows)
        cutoff = (day - RETENTION_DAYS) * (DAY_SECONDS if FIXED else 1)
        self.db.execute("DELETE FROM trades WHERE ts < ?", (cutoff,))
        self.db.commit()

    def settle(self, day, reading, prices):
        energy, total = reading.sum(axis=0), 0.0
        for meter in range(METERS):
            bill = float(reading[:, meter] @ prices) * tariff(day % 7, meter % 9)
            log.info("day %d meter %d energy %.2f bill %.2f", day, meter, energy[meter], bill)
            total += bill
        return total


def main():
    configure_logging()
    guard = LeakGuard(out=sys.argv[2])
    forecaster, market, ledger = Forecaster(meter_readings(9)), Market(), Ledger()
    totals = []
    with guard:
        for day in guard.generations(range(1, DAYS + 1)):
            with guard.phase("forecast"):
                reading, load = forecaster.forecast(day)
            with guard.phase("dispatch"):
                prices = market.clear(day, load)
            with guard.phase("settle"):
                totals.append(ledger.settle(day, reading, prices))
                if day >= INTRADAY_FROM:
                    ledger.trade(day, prices)
    market.session.close()
    print(f"{len(totals)} days, last bill {totals[-1]:.1f}, best day {market.best_day[0]:.1f}")


if __name__ == "__main__":
    main()
