"""Ticks of a market in columns of numpy: a column doubles when it is full, up to a bound, after which the
oldest ticks are overwritten."""

# /// truth
# about = "columns that double up to 2**18 rows (in round 132 of 360), are full in round 263, and turn into a ring"
# ///
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(99)
BOUND = 1 << 18
FIELDS = ("time", "price", "size", "spread")


class Columns:
    def __init__(self):
        self.data = {name: np.zeros(1024) for name in FIELDS}
        self.end = 0
        self.room = 1024

    def append(self, rows):
        count = len(rows["time"])
        while self.room < min(BOUND, self.end + count):
            self.room *= 2
            for name in FIELDS:
                grown = np.zeros(self.room)
                grown[: len(self.data[name])] = self.data[name]
                self.data[name] = grown
        places = np.arange(self.end, self.end + count) % self.room
        for name in FIELDS:
            self.data[name][places] = rows[name]
        self.end += count

    def last(self, name, count):
        places = np.arange(max(0, self.end - count), self.end) % self.room
        return self.data[name][places]


def main():
    columns = Columns()
    price, signals = 100.0, 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for minute in guard.generations(range(1, 361)):
            with guard.phase("receive"):
                count = 1000
                path = price * np.exp(np.cumsum(rng.normal(0, 1e-4, count)))
                price = float(path[-1])
                rows = {"time": minute + np.sort(rng.random(count)), "price": path,
                        "size": rng.integers(1, 500, count), "spread": rng.random(count)}  # fmt: skip
                columns.append(rows)
            with guard.phase("indicators"):
                window = columns.last("price", 80_000)
                weights = np.exp(np.linspace(-4, 0, 200))
                smooth = np.convolve(window, weights / weights.sum(), "valid") if len(window) > 200 else window
                signals += int((np.diff(np.sign(window[-len(smooth) :] - smooth)) != 0).sum())
            with guard.phase("volume"):
                profile, _ = np.histogram(window, 50, weights=columns.last("size", 80_000))
                signals += int(profile.argmax())
    print("signals", signals, "rows", columns.room)


main()
