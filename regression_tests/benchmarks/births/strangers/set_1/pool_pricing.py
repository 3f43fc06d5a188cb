"""Prices options with a worker process, batch by batch."""
import multiprocessing
import sys

import numpy as np

FIXED = sys.argv[1] == "fixed"
paths_seen = {}


def price(number, strike):
    """Runs in the worker."""
    rng = np.random.default_rng(number)
    key = 0 if FIXED else (number, round(strike, 3))
    paths = np.exp(0.2 * rng.standard_normal((60_000, 10)).cumsum(1) / 10)
    paths_seen[key] = paths[:3000].copy()
    payoff = np.maximum(paths[:, -1] - strike, 0)
    return {"strike": strike, "payoff": payoff[:8000], "price": float(payoff.mean())}


class Desk:
    def __init__(self, pool):
        self.pool = pool
        self.pending = []
        self.prices = []

    def submit(self, number):
        for strike in (0.9, 1.1):
            self.pending.append(self.pool.apply_async(price, (number, strike)))

    def settle(self):
        for result in self.pending[-2:]:
            self.prices.append(result.get()["price"])
        if FIXED:
            self.pending.clear()


def main():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        desk = Desk(pool)
        for number in range(120):
            desk.submit(number)
            desk.settle()
    print("prices", len(desk.prices), "mean", round(sum(desk.prices) / len(desk.prices), 5))


if __name__ == "__main__":
    main()
