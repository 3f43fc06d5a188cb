"""Fits a linear model from batches that a thread prepares ahead, and stops a pass early."""

# /// truth
# about = """a prefetching thread that stays blocked on its full queue when the pass ends early"""
# [[leak]]
# type = ["Prefetcher", "Thread", "Queue", "ndarray", "Condition", "Event", "deque",
#   "tuple"]
# holder = ["_active", "batches", "queue", "_shutdown_locks"]
# phase = "fit"
# start = 1
# kind = "threads"
# ///
import os
import queue
import sys
import threading
from collections.abc import Iterator

import numpy as np

from leakguard import LeakGuard

STOP_THREAD = sys.argv[1] == "clean"
GENERATIONS = 150
FEATURES = 32


class Prefetcher(threading.Thread):
    """Prepares the batches of one pass, at most three ahead of whoever reads them."""

    def __init__(self, seed: int, count: int) -> None:
        super().__init__(daemon=True)
        self.rng = np.random.default_rng(seed)
        self.count = count
        self.batches: queue.Queue = queue.Queue(maxsize=3)
        self.stopped = threading.Event()

    def run(self) -> None:
        truth = np.linspace(-1.0, 1.0, FEATURES)
        for _ in range(self.count):
            if self.stopped.is_set():
                return
            inputs = self.rng.normal(size=(400, FEATURES))
            targets = inputs @ truth + self.rng.normal(0.0, 0.1, 400)
            self.batches.put((inputs, targets))
        self.batches.put(None)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        while (batch := self.batches.get()) is not None:
            yield batch

    def close(self) -> None:
        self.stopped.set()
        while self.is_alive():
            try:
                self.batches.get(timeout=0.01)
            except queue.Empty:
                self.join(0.01)


def fit(prefetcher: Prefetcher, patience: int = 4) -> np.ndarray:
    """Gradient descent until the loss has not improved for some batches."""
    weights = np.zeros(FEATURES)
    best, since_best = np.inf, 0
    for inputs, targets in prefetcher:
        for _ in range(12):
            residual = inputs @ weights - targets
            weights -= 0.15 * inputs.T @ residual / len(targets)
        loss = float(np.square(inputs @ weights - targets).mean())
        if loss < best - 1e-3:
            best, since_best = loss, 0
        else:
            since_best += 1
        if since_best >= patience:
            break
    return weights


def main() -> None:
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("fit"):
                prefetcher = Prefetcher(seed=generation, count=200)
                prefetcher.start()
                weights = fit(prefetcher)
                if STOP_THREAD:
                    prefetcher.close()
            with guard.phase("validate"):
                inputs = np.random.default_rng(0).normal(size=(2_000, FEATURES))
                assert np.isfinite(inputs @ weights).all()


if __name__ == "__main__":
    main()
