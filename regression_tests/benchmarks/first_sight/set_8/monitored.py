"""Fits a small MLP in one thread while another watches the progress; main waits for both."""
import collections
import sys
import threading
import time
from dataclasses import dataclass, field

import numpy as np

EPOCHS = 120
SNAPSHOTS = {}
MODE = sys.argv[1] if len(sys.argv) > 1 else "calm"


@dataclass
class Snapshot:
    epoch: int
    loss: float
    weights: dict
    history: list = field(default_factory=list)


class Progress:
    def __init__(self):
        self.lock = threading.Lock()
        self.epoch = 0
        self.loss = None
        self.stop = threading.Event()


def monitor(progress):
    recent = collections.deque(maxlen=20)
    beats = 0
    while not progress.stop.wait(0.2):
        with progress.lock:
            recent.append({"time": time.time(), "epoch": progress.epoch, "loss": progress.loss})
        beats += 1
    progress.beats = beats


def fit(progress):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(512, 32))
    y = np.sin(x[:, :1] * 2) + 0.3 * x[:, 1:2]
    params = {"w1": rng.normal(size=(32, 64)) * 0.2, "b1": np.zeros(64),
              "w2": rng.normal(size=(64, 1)) * 0.2, "b2": np.zeros(1)}
    for epoch in range(EPOCHS):
        losses = []
        for lo in range(0, 512, 64):
            xb, yb = x[lo:lo + 64], y[lo:lo + 64]
            h = np.tanh(xb @ params["w1"] + params["b1"])
            err = h @ params["w2"] + params["b2"] - yb
            losses.append(float((err ** 2).mean()))
            g = 2 * err / 64
            gh = (g @ params["w2"].T) * (1 - h ** 2)
            params["w2"] = params["w2"] - 0.05 * h.T @ g
            params["b2"] = params["b2"] - 0.05 * g.sum(0)
            params["w1"] = params["w1"] - 0.05 * xb.T @ gh
            params["b1"] = params["b1"] - 0.05 * gh.sum(0)
        with progress.lock:
            progress.epoch, progress.loss = epoch, losses[-1]
        remember(epoch, float(np.mean(losses)), params, losses)
        time.sleep(0.05)
    progress.stop.set()


def remember(epoch, loss, params, losses):
    """Early stopping wants the best weights back."""
    SNAPSHOTS[epoch] = Snapshot(epoch, loss, {k: v.copy() for k, v in params.items()}, losses)
    if MODE != "leak":
        while len(SNAPSHOTS) > 2:
            worst = max(SNAPSHOTS.values(), key=lambda s: s.loss)
            del SNAPSHOTS[worst.epoch]


def main():
    progress = Progress()
    watcher = threading.Thread(target=monitor, args=(progress,), name="monitor")
    trainer = threading.Thread(target=fit, args=(progress,), name="trainer")
    watcher.start()
    trainer.start()
    trainer.join()
    watcher.join()
    best = min(SNAPSHOTS.values(), key=lambda s: s.loss)
    print("best epoch", best.epoch, "loss", f"{best.loss:.6f}", "watched", progress.beats > 5)


main()

# /// truth
# about = "a fit in one thread beside a monitor in another; early stopping keeps all weights"
# [[leak]]
# type = ["Snapshot"]
# holder = ["SNAPSHOTS"]
# line = ["SNAPSHOTS[epoch] = Snapshot(epoch, loss, {k: v.copy() for k, v in params.items()}, losses)"]
# ///
