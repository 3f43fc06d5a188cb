"""Anomaly detection on streams of many machines that come on line one after the other."""
import random
from collections import deque

import numpy as np

# /// truth
# about = "an anomaly detector with a state per machine, a bounded window each, and machines that all have joined by half time"
# ///

MACHINES = 96
rng = np.random.default_rng(19)
pick = random.Random(19)


class MachineState:
    def __init__(self, name):
        self.name = name
        self.window = deque(maxlen=60)
        self.mean = np.zeros(48)
        self.scale = np.ones(48)
        self.alarms = 0

    def observe(self, spectrum):
        z = (spectrum - self.mean) / self.scale
        self.mean += 0.05 * (spectrum - self.mean)
        self.scale += 0.05 * (np.abs(spectrum - self.mean) + 0.05 - self.scale)
        self.window.append(spectrum)
        if len(self.window) < 20:
            return 0.0
        stack = np.stack(self.window)
        lead = np.linalg.svd(stack - stack.mean(axis=0), compute_uv=False)[0]
        return float(np.abs(z).max() + 0.01 * lead)


class Reservoir:
    """Keeps a uniform sample of what was seen."""

    def __init__(self, size):
        self.size, self.seen, self.items = size, 0, []

    def offer(self, item):
        self.seen += 1
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            k = pick.randrange(self.seen)
            if k < self.size:
                self.items[k] = item


def readings(rounds):
    for r in range(rounds):
        online = min(MACHINES, 6 + r // 5)
        for m in pick.sample(range(online), min(online, 28)):
            t = np.arange(94) * (1 + 0.01 * m)
            wave = np.sin(t) + 0.3 * rng.normal(size=94) + (3.0 if pick.random() < 0.01 else 0.0) * np.sin(2.2 * t)
            yield r, "m%02d" % m, np.abs(np.fft.rfft(wave))
        yield r, None, None


def detect(rounds):
    states, sample, alarms = {}, Reservoir(800), 0
    for r, name, spectrum in readings(rounds):
        if name is None:
            yield r, len(states), alarms, sample
            continue
        state = states.get(name)
        if state is None:
            state = states[name] = MachineState(name)
        score = state.observe(spectrum)
        sample.offer((r, name, score))
        if score > 9:
            state.alarms += 1
            alarms += 1


if __name__ == "__main__":
    for r, machines, alarms, sample in detect(1100):
        if r % 150 == 0:
            print("round %4d  machines %d  alarms %d  sample %d" % (r, machines, alarms, len(sample.items)))
