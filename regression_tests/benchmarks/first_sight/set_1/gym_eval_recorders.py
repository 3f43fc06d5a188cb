"""Evolution strategies on a small warehouse; every evaluation makes its environment anew."""
# /// truth
# about = "evaluation environments, wrapped to record their returns, are kept for a summary nobody writes"
# [[leak]]
# type = ["WarehouseEnv", "RecordEpisodeStatistics", "TimeLimit", "OrderEnforcing", "PassiveEnvChecker"]
# holder = "recorded"
# phase = "evaluate"
# start = 1
# within = 1
# kind = "instances"
# ///
import os
import sys

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 90


class WarehouseEnv(gym.Env):
    metadata = {"render_modes": []}

    def __init__(self, size=64):
        self.size = size
        self.observation_space = spaces.Box(-10.0, 10.0, (6,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.shelves = np.zeros((8, size, size), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.shelves[:] = self.np_random.random(self.shelves.shape, dtype=np.float32)
        self.at = np.array([self.size // 2, self.size // 2])
        return self._look(), {}

    def _look(self):
        x, y = self.at
        stock = self.shelves[:4, x, y]
        return np.array([x / self.size, y / self.size, *stock], np.float32)

    def step(self, action):
        moves = ((1, 0), (-1, 0), (0, 1), (0, -1))
        self.at = np.clip(self.at + moves[int(action)], 0, self.size - 1)
        x, y = self.at
        reward = float(self.shelves[:, x, y].sum())
        self.shelves[:, x, y] *= 0.5
        return self._look(), reward, False, False, {}


gym.register(id="Warehouse-v0", entry_point=WarehouseEnv, max_episode_steps=60)


class Evaluator:
    def __init__(self):
        self.recorded = []
        self.best = -np.inf

    def score(self, weights, seed):
        env = gym.wrappers.RecordEpisodeStatistics(gym.make("Warehouse-v0"))
        total = 0.0
        for episode in range(10):
            seen, _ = env.reset(seed=seed + episode)
            done = False
            while not done:
                seen, reward, terminated, truncated, _ = env.step(int(np.argmax(weights @ seen)))
                total += reward
                done = terminated or truncated
        self.best = max(self.best, total)
        if LEAK:
            self.recorded.append(env)
        else:
            env.close()
        return total


def main():
    rng = np.random.default_rng(11)
    mean = np.zeros((4, 6))
    evaluator = Evaluator()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("sample"):
                noise = rng.normal(size=(3, 4, 6))
            with guard.phase("evaluate"):
                scores = [evaluator.score(mean + 0.3 * n, generation * 10) for n in noise]
            with guard.phase("update"):
                ranks = np.argsort(np.argsort(scores)) - 1.0
                mean += 0.1 * np.tensordot(ranks, noise, 1)


main()
