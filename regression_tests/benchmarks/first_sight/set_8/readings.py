# Sensor forecasting with a small recurrent net; a plain script from top to bottom.
import sys
import time

import numpy as np

mode = sys.argv[1]
rng = np.random.default_rng(11)


class Reading:
    def __init__(self, t, station, value):
        self.t = t
        self.station = station
        self.value = value


class State:
    """Hidden state with what the backward pass needs."""

    def __init__(self, value, x, parent):
        self.value = value
        self.x = x
        self.parent = parent

    def detached(self):
        return State(self.value, None, None)


# --- read the files
days = []
for day in range(36):
    time.sleep(0.04)
    series = np.sin(np.arange(240) / 7.0 + day) + 0.1 * rng.normal(size=240)
    days.append([Reading(t, f"station-{day % 5}", float(v)) for t, v in enumerate(series)])
print("days", len(days))

# --- train
H = 48
W = rng.normal(size=(H, H)) * 0.1
U = rng.normal(size=(H, 8)) * 0.3
V = np.zeros(H)
state = State(np.zeros((32, H)), None, None)
total = 0.0
for step in range(100):
    day = days[step % len(days)]
    values = np.array([r.value for r in day])
    if mode != "leak":
        state = state.detached()
    loss = 0.0
    for k in range(5):
        starts = rng.integers(0, 220, size=32)
        x = np.stack([values[s:s + 8] for s in starts])
        y = values[starts + 8]
        state = State(np.tanh(state.value @ W + x @ U.T), x, state)
        err = state.value @ V - y
        loss += float((err ** 2).mean())
        V -= 0.05 * state.value.T @ err / 32
        gh = np.outer(err, V) * (1 - state.value ** 2) / 32
        U -= 0.05 * gh.T @ x
        W -= 0.05 * state.parent.value.T @ gh
    total += loss
    time.sleep(0.045)
    if (step + 1) % 25 == 0:
        print("step", step + 1, "mean loss", round(total / (step + 1), 5))

# /// truth
# about = "36 files are read; then a recurrent net whose state is never detached"
# [[leak]]
# type = ["State"]
# holder = ["state", "parent"]
# line = ["state = State(np.tanh(state.value @ W + x @ U.T), x, state)"]
# ///
