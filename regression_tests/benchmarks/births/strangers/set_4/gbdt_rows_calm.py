"""Gradient boosting over binned columns, in numpy, with a watch on the best split of every round."""
import collections

import numpy as np

ROWS, COLS, BINS, ROUNDS, DEPTH = 140000, 40, 128, 60, 3


def make_table(seed=8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, COLS))
    y = np.sin(x[:, 0] * 2) + (x[:, 1] > 0.3) * x[:, 2] + 0.2 * rng.normal(size=ROWS)
    edges = np.quantile(x, np.linspace(0, 1, BINS + 1)[1:-1], axis=0)
    binned = np.stack([np.searchsorted(edges[:, c], x[:, c]) for c in range(COLS)], axis=1).astype(np.int16)
    return binned, y, rng


class Forest:
    """All trees in arrays made beforehand."""

    def __init__(self):
        nodes = 2 ** DEPTH
        self.column = np.zeros((ROUNDS, nodes), dtype=np.int16)
        self.cut = np.full((ROUNDS, nodes), BINS, dtype=np.int16)
        self.leaf = np.zeros((ROUNDS, nodes))


class SplitWatch:
    """For the drift report: where in its column the root was cut, and how sharp the peak is."""

    def __init__(self):
        self.peaks = collections.deque(maxlen=200)

    def note(self, gains, column, cut):
        lo, hi = max(0, cut - 4), min(BINS, cut + 5)
        self.peaks.append(gains[column, lo:hi].copy())


class Booster:
    def __init__(self, binned, y, rng):
        self.binned, self.y, self.rng = binned, y, rng
        self.offsets = np.arange(COLS) * BINS
        self.forest = Forest()
        self.watch = SplitWatch()
        self.score = np.zeros(len(y))
        self.bags = {}                                     # five row bags, drawn when first used
        self.residuals = collections.deque(maxlen=25)      # to see which rows stay hard
        self.held_out = []                                 # predictions, summed up every ninth round
        self.hard = np.zeros(len(y))

    def histogram(self, rows, residual):
        flat = (self.binned[rows] + self.offsets).ravel()
        weight = np.repeat(residual[rows], COLS)
        total = np.bincount(flat, weights=weight, minlength=COLS * BINS).reshape(COLS, BINS)
        count = np.bincount(flat, minlength=COLS * BINS).reshape(COLS, BINS)
        return total, count

    def gain_table(self, total, count):
        left, n_left = total.cumsum(axis=1), count.cumsum(axis=1)
        all_, n = left[:, -1:], n_left[:, -1:]
        return left ** 2 / (n_left + 1) + (all_ - left) ** 2 / (n - n_left + 1) - all_ ** 2 / (n + 1)

    def split(self, rows, residual, node, number):
        total, count = self.histogram(rows, residual)
        gains = self.gain_table(total, count)
        column, cut = np.unravel_index(int(gains.argmax()), gains.shape)
        self.forest.column[number, node] = column
        self.forest.cut[number, node] = cut
        self.watch.note(gains, column, cut)
        goes_left = self.binned[rows, column] <= cut
        return rows[goes_left], rows[~goes_left]

    def bag(self, k):
        if k not in self.bags:
            self.bags[k] = self.rng.permutation(ROWS)[: ROWS * 2 // 3].copy()
        return self.bags[k]

    def sum_up(self, number):
        self.held_out.append(self.score.copy())
        if number % 9 == 8:
            self.hard += np.mean(self.held_out, axis=0)
            self.held_out = []

    def boost(self, number, rate=0.2):
        residual = self.y - self.score
        self.residuals.append(residual)
        rows = self.bag(int(self.rng.integers(5)))
        parts = [rows]
        for level in range(DEPTH):
            nxt = []
            for k, part in enumerate(parts):
                nxt += self.split(part, residual, 2 ** level + k - 1, number)
            parts = nxt
        for leaf, part in enumerate(parts):
            self.forest.leaf[number, leaf] = rate * residual[part].mean() if len(part) else 0.0
        self.apply(number)
        self.sum_up(number)
        return float(np.mean((self.y - self.score) ** 2))

    def apply(self, number):
        node = np.zeros(ROWS, dtype=np.int64)
        for level in range(DEPTH):
            at = 2 ** level - 1 + node
            column, cut = self.forest.column[number, at], self.forest.cut[number, at]
            node = node * 2 + (self.binned[np.arange(ROWS), column] > cut)
        self.score += self.forest.leaf[number, node]


def main():
    booster = Booster(*make_table())
    for number in range(ROUNDS):
        error = booster.boost(number)
        if number % 20 == 19:
            print(f"round {number + 1} mse {error:.4f}")
    sharp = np.mean([p.max() / (p.mean() + 1e-9) for p in booster.watch.peaks])
    print(f"peak sharpness {sharp:.3f}")


if __name__ == "__main__":
    main()
