"""Rolling forecast of a drifting series with feature scratch space and drift watchers."""
import mmap
import sys
import threading
from collections import OrderedDict

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(9)
rng = np.random.default_rng(9)
WINDOWS = 100
HISTORY = 48
SCRATCH = 256 * 1024


def series(start, length):
    t = np.arange(start, start + length)
    return (np.sin(t / 7) + 0.3 * np.sin(t / 31) + 1e-4 * t + 0.1 * rng.normal(size=length)).astype(np.float32)


class FeatureStore:
    def __init__(self):
        self._area = mmap.mmap(-1, SCRATCH)
        self._stats = OrderedDict()

    def features(self, window, values):
        view = np.frombuffer(self._area, dtype=np.float32)
        grid = np.lib.stride_tricks.sliding_window_view(values, HISTORY + 1)
        flat = grid.ravel()[:len(view)]
        view[:len(flat)] = flat
        view[len(flat):] = 0.0
        self._stats[window] = (float(values.mean()), float(values.std()))
        if len(self._stats) > 30:
            self._stats.popitem(last=False)
        rows = len(flat) // (HISTORY + 1)
        return view[:rows * (HISTORY + 1)].reshape(rows, HISTORY + 1)


class DriftWatcher(threading.Thread):
    def __init__(self, window, reference):
        super().__init__(name=f"drift-{window}", daemon=True)
        self.reference = reference
        self.arrived = threading.Event()
        self.stop = threading.Event()
        self.current = None
        self.alarm = False

    def run(self):
        while not self.stop.is_set():
            self.arrived.wait()
            self.arrived.clear()
            if self.current is not None:
                self.alarm = abs(self.reference.mean() - self.current.mean()) > 0.5
                self.current = None


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        _, state = self.gru(x.unsqueeze(-1))
        return self.head(state[-1]).squeeze(-1)


class Pipeline:
    def __init__(self):
        self.model = Forecaster()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.store = FeatureStore()
        self.watcher = None
        self.errors = np.full(64, np.nan)

    def fit(self, rows):
        for _ in range(3):
            pick = torch.as_tensor(rows[rng.choice(len(rows), 64)].copy())
            loss = (self.model(pick[:, :-1]) - pick[:, -1]).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def score(self, window, rows):
        test = torch.as_tensor(rows[-100:].copy())
        error = (self.model(test[:, :-1]) - test[:, -1]).abs().mean().item()
        self.errors[window % 64] = error
        return error

    def watch_drift(self, window, values):
        if window < 20:
            return
        if self.watcher is not None:
            self.watcher.stop.set()
            self.watcher.arrived.set()
            self.watcher.join()
        self.watcher = DriftWatcher(window, np.repeat(values, 14))
        self.watcher.start()
        self.watcher.current = values[-200:]
        self.watcher.arrived.set()


def main():
    pipeline = Pipeline()
    guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "run.jsonl")
    with guard:
        for window in guard.generations(range(1, WINDOWS + 1)):
            values = series(window * 300, 1200)
            with guard.phase("features"):
                rows = pipeline.store.features(window, values)
            with guard.phase("fit"):
                pipeline.fit(rows)
            with guard.phase("score"):
                error = pipeline.score(window, rows)
            with guard.phase("drift"):
                pipeline.watch_drift(window, values)
    print("error", round(error, 3), "mean", round(float(np.nanmean(pipeline.errors)), 3))


main()
