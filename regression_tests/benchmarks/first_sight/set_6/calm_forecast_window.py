"""Online load forecast: warm-up without a model, then a refit each round on a sliding window."""
# /// truth
# about = "a forecaster with a warm-up, a sliding window, and at most 12 kept models"
# ///
import sys
from collections import deque

import numpy as np

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
LAGS = 110
WARM_UP = 80


class Ridge:
    def __init__(self, x, y, alpha):
        self.mean = x.mean(axis=0)
        self.scale = x.std(axis=0) + 1e-6
        z = (x - self.mean) / self.scale
        self.bias = y.mean()
        gram = z.T @ z + alpha * np.eye(z.shape[1])
        self.weights = np.linalg.solve(gram, z.T @ (y - self.bias))
        self.inverse = np.linalg.inv(gram)

    def predict(self, row):
        return float((row - self.mean) / self.scale @ self.weights + self.bias)


class Forecaster:
    def __init__(self):
        self.window = deque(maxlen=1500)
        self.models = deque(maxlen=12)
        self.errors = deque(maxlen=200)
        self.snapshots = {}

    def refit(self):
        series = np.array(self.window)
        x = np.lib.stride_tricks.sliding_window_view(series[:-1], LAGS)
        y = series[LAGS:]
        self.models.append(Ridge(x.copy(), y, alpha=1.0))

    def forecast(self):
        row = np.array([self.window[i] for i in range(-LAGS, 0)])
        return float(np.mean([m.predict(row) for m in self.models]))

    def observe(self, value):
        if self.models:
            guess = self.forecast()
            self.errors.append(abs(guess - value))
        self.window.append(value)

    def snapshot(self, hour):
        self.snapshots[hour % 24] = np.array(self.window)


def load_curve(rng):
    t = 0
    level = 100.0
    while True:
        level += rng.normal(0, 0.05)
        daily = 12 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168)
        yield float(level + daily + rng.normal(0, 1.0))
        t += 1


source = load_curve(np.random.default_rng(23))
model = Forecaster()
hour = 0
while True:
    for _ in range(3):
        model.observe(next(source))
    if hour >= WARM_UP:
        model.refit()
        model.snapshot(hour)
    hour += 1
    if hour % 200 == 0:
        print(f"round {hour} window {len(model.window)} "
              f"mean error {np.mean(model.errors):.3f}", flush=True)
    if hour == 1600:
        break
