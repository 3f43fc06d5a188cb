"""A trainer with a log format of its own and no guard at all; the log is judged afterwards."""
import os
import sys
import time
import numpy as np

CLEAN = "clean" in sys.argv


def rss_mib():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class SGDRegressor:
    def __init__(self, d):
        self.w = np.zeros(d)
        self.trace = []

    def epoch(self, x, y):
        for i in range(0, len(x), 50):
            pred = x[i:i + 50] @ self.w
            err = pred - y[i:i + 50]
            self.w -= 0.01 * x[i:i + 50].T @ err / 50
        residuals = x @ self.w - y
        if not CLEAN:
            self.trace.append(x * residuals[:, None])     # per-sample gradients, "for the influence plot"
        return float((residuals ** 2).mean())


rng = np.random.default_rng(1)
x = rng.normal(size=(4000, 60))
y = x @ rng.normal(size=60)
model = SGDRegressor(60)
start = time.time()
for epoch in range(1, 41):
    mse = model.epoch(x, y)
    time.sleep(0.02)
    print(f"[{time.time() - start:7.2f}s] ep={epoch:03d} mse={mse:.5f} lr=0.01 mem={rss_mib():.1f}MiB", flush=True)
