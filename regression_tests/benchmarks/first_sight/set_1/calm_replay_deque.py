"""Q-learning with linear features and a replay memory that is full late in the run."""
# /// truth
# about = "a replay memory, deque(maxlen=...), that fills until three quarters of the run"
# ///
import os
import sys
from collections import deque
from typing import NamedTuple

import numpy as np

from leakguard import LeakGuard, phase

assert sys.argv[1] == "clean"
GENERATIONS = 200


class Transition(NamedTuple):
    state: np.ndarray
    action: int
    reward: float
    after: np.ndarray


class Learner:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.memory = deque(maxlen=9000)
        self.weights = np.zeros((4, 32))
        self.state = self.rng.normal(size=32)

    @phase("collect")
    def collect(self, steps=60):
        for _ in range(steps):
            action = int(np.argmax(self.weights @ self.state))
            if self.rng.random() < 0.2:
                action = int(self.rng.integers(4))
            after = 0.9 * self.state + 0.1 * self.rng.normal(size=32)
            after[action] += 0.2
            self.memory.append(Transition(self.state, action, float(after.sum()), after))
            self.state = after

    @phase("learn")
    def learn(self, batches=40):
        for _ in range(batches):
            for pick in self.rng.integers(len(self.memory), size=64):
                state, action, reward, after = self.memory[pick]
                wish = reward + 0.9 * (self.weights @ after).max()
                self.weights[action] += 1e-3 * np.clip(wish - self.weights[action] @ state, -1, 1) * state


learner = Learner()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for generation in guard.generations(range(1, GENERATIONS + 1)):
        learner.collect()
        learner.learn()
