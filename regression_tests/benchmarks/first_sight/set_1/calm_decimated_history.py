"""A long simulation whose history is thinned out by half whenever it is full."""
# /// truth
# about = "a history with decimation: each time it is full, every second entry goes and the stride doubles"
# ///
import os
import sys

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 300


class Sample:
    def __init__(self, time, state):
        self.time = time
        self.mean = float(state.mean())
        self.profile = state[::16].copy()


class History:
    def __init__(self, capacity=400):
        self.capacity = capacity
        self.stride = 1
        self.offered = 0
        self.samples = []

    def offer(self, state):
        if self.offered % self.stride == 0:
            if len(self.samples) == self.capacity:
                del self.samples[1::2]
                self.stride *= 2
            self.samples.append(Sample(self.offered, state))
        self.offered += 1


rng = np.random.default_rng(14)
state = rng.random(4096)
history = History()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for generation in guard.generations(range(1, GENERATIONS + 1)):
        for _ in range(20):
            for _ in range(15):
                state += 0.2 * (np.roll(state, 1) + np.roll(state, -1) - 2 * state) + 0.01 * np.sin(9 * state)
            state += 0.001 * rng.normal(size=state.size)
            history.offer(state)
