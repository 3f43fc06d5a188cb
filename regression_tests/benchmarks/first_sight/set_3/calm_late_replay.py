"""A replay buffer stays empty until the 80th round, fills until the 150th and is full from then on."""

# /// truth
# about = "a replay buffer that begins to fill in the 80th of 220 rounds and is full at the 150th"
# ///
import os
import random
from collections import deque

import numpy as np

from leakguard import LeakGuard

random.seed(71)
rng = np.random.default_rng(71)


class Transition:
    __slots__ = ("state", "action", "reward")

    def __init__(self, state, action, reward):
        self.state, self.action, self.reward = state, action, reward


replay = deque(maxlen=3_500)
weights = rng.standard_normal((64, 64)) * 0.1
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for number in guard.generations(range(1, 221)):
        with guard.phase("collect"):
            state = rng.standard_normal(64)
            for step in range(50):
                state = np.tanh(weights @ state) + 0.1 * rng.standard_normal(64)
                if number >= 80:
                    replay.append(Transition(state, step % 4, float(state[0])))
        with guard.phase("learn"):
            for _ in range(20):
                if len(replay) > 64:
                    batch = np.stack([one.state for one in random.sample(replay, 64)])
                else:
                    batch = rng.standard_normal((64, 64))
                weights -= 1e-5 * batch.T @ (batch @ weights)
