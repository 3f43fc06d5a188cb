"""Bayesian hyper-parameter search: a Gaussian process proposes, a thread pool evaluates ridge models."""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
ROUNDS, PER_ROUND, WINDOW = 36, 4, 24


class Trial:
    def __init__(self, number, point, loss, residuals):
        self.number, self.point, self.loss, self.residuals = number, point, loss, residuals


class Objective:
    """Cross-validated loss of random-feature ridge regression."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.uniform(-2, 2, (1200, 5))
        self.y = np.sin(self.x.sum(1)) + 0.2 * rng.normal(size=len(self.x))
        self.workspace = threading.local()

    def features(self, number, point):
        spaces = self.workspace.__dict__.setdefault("spaces", {})
        key = "phi" if FIXED else number
        if key not in spaces:
            spaces[key] = np.empty((len(self.x), 60), dtype=np.float32)
        width, _ = point
        directions = np.random.default_rng(number).normal(size=(5, 60)) * np.exp(width)
        np.cos(self.x @ directions, out=spaces[key], casting="same_kind")
        return spaces[key]

    def __call__(self, number, point):
        phi = self.features(number, point)
        residuals = np.empty(len(self.x))
        for fold in range(6):
            test = np.arange(len(self.x)) % 6 == fold
            train = phi[~test].astype(np.float64)
            gram = train.T @ train + np.exp(point[1]) * np.eye(60)
            weights = np.linalg.solve(gram, train.T @ self.y[~test])
            residuals[test] = phi[test] @ weights - self.y[test]
        pull = np.sort(np.random.default_rng(number).choice(residuals, (100, len(residuals))).mean(1))
        return Trial(number, np.asarray(point), float(pull[75] ** 2 + residuals.var()), np.tile(residuals, 3))


class Surrogate:
    def __init__(self):
        self.trials = np.empty(WINDOW if FIXED else 0, dtype=object)
        self.told = 0

    def tell(self, trial):
        if FIXED:
            self.trials[self.told % WINDOW] = trial
        else:
            self.trials = np.append(self.trials, None)
            self.trials[-1] = trial
        self.told += 1

    def known(self):
        seen = [trial for trial in self.trials[-WINDOW:] if trial is not None]
        return np.array([t.point for t in seen]), np.array([t.loss for t in seen])

    def propose(self, rng):
        candidates = rng.uniform((-3, -6), (1, 3), (1500, 2))
        if self.told < 2 * PER_ROUND:
            return candidates[:PER_ROUND]
        points, losses = self.known()
        near = lambda a, b: np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1))
        inverse = np.linalg.inv(near(points, points) + 0.01 * np.eye(len(points)))
        cross = near(candidates, points)
        mean = cross @ inverse @ (losses - losses.mean())
        spread = np.sqrt(np.clip(1.0 - np.einsum("ij,jk,ik->i", cross, inverse, cross), 1e-9, None))
        return candidates[np.argsort(mean - spread)[:PER_ROUND]]


def main():
    rng = np.random.default_rng(19)
    objective, surrogate = Objective(seed=19), Surrogate()
    best = None
    guard = LeakGuard(out=sys.argv[2])
    with guard, ThreadPoolExecutor(2, thread_name_prefix="fold") as pool:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("propose"):
                points = surrogate.propose(rng)
            with guard.phase("evaluate"):
                numbers = range(number * PER_ROUND, (number + 1) * PER_ROUND)
                trials = list(pool.map(objective, numbers, points))
            with guard.phase("tell"):
                for trial in trials:
                    surrogate.tell(trial)
                    if best is None or trial.loss < best.loss:
                        best = trial
    print(f"best loss {best.loss:.4f} in trial {best.number} of {surrogate.told}")


main()
