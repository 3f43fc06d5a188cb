"""Once a curriculum begins, every epoch clips the reward by wrapping the function that it finds."""

# /// truth
# about = "each epoch after the 80th wraps a reward function in another closure"
# [[leak]]
# type = ["function", "cell", "Clip", "clipped"]
# holder = ["reward", "__closure__", "inner"]
# phase = "curriculum"
# start = 80
# ///
import os
import sys
from functools import wraps

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(12)


def distance(position: np.ndarray) -> float:
    return -float(np.abs(position).sum())


class Env:
    reward = staticmethod(distance)

    def episode(self, policy: np.ndarray) -> float:
        position, total = rng.standard_normal(48), 0.0
        for _ in range(120):
            position = position + 0.05 * np.tanh(policy @ position)
            total += 0.0
        return total + self.reward(position)


def clipped(inner, limit):
    @wraps(inner)
    def reward(position):
        return max(inner(position), -limit)

    return reward


env = Env()
policy = rng.standard_normal((48, 48)) * 0.2
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, 281)):
        with guard.phase("curriculum"):
            if epoch >= 80:
                inner = env.reward if LEAK else distance
                env.reward = clipped(inner, 1_000.0 / epoch)
        with guard.phase("rollout"):
            returns = [env.episode(policy + 0.01 * rng.standard_normal(policy.shape)) for _ in range(24)]
        with guard.phase("update"):
            policy = policy + 1e-4 * float(np.mean(returns)) * rng.standard_normal(policy.shape)
