"""RL with gymnasium: a curriculum that wraps the environment anew, around the old wrapper."""
import sys
import gymnasium as gym
import numpy as np
from leakguard import LeakGuard
from leakguard.integrations import gymnasium as lg_gym

CLEAN = "clean" in sys.argv


class RecordObservations(gym.Wrapper):
    """Normalises observations with statistics of this stage of the curriculum."""

    def __init__(self, env, keep=4000):
        super().__init__(env)
        self.window = np.zeros((keep, 4))
        self.n = 0

    def step(self, action):
        obs, r, term, trunc, info = self.env.step(action)
        self.window[self.n % len(self.window)] = obs
        self.n += 1
        return obs, r, term, trunc, info


def episode(env, w):
    obs, _ = env.reset()
    total = 0.0
    for _ in range(200):
        obs, r, term, trunc, _ = env.step(int(obs @ w > 0))
        total += r
        if term or trunc:
            break
    return total


rng = np.random.default_rng(0)
guard = LeakGuard(watch={RecordObservations: 1}, out=f"s21.{'clean' if CLEAN else 'leaky'}.jsonl")
base = lg_gym.WatchedEnv(gym.make("CartPole-v1"), guard, every=20)
env = base
w = rng.normal(size=4)
best = -1
with guard:
    for stage in range(30):
        env = RecordObservations(base if CLEAN else env)
        for _ in range(20):
            cand = w + rng.normal(size=4) * 0.3
            ret = episode(env, cand)
            if ret > best:
                best, w = ret, cand
print(best)
