"""Search for a controller of CartPole: a bandit picks among freshly generated arm classes."""
import gc
import math
import sys
from collections import deque

import gymnasium
import numpy as np

from leakguard import LeakGuard

KEEP = sys.argv[1] == "leak"
rng = np.random.default_rng(8)


class Arm:
    registry = {}
    table = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        Arm.registry[cls.__name__] = cls

    def act(self, observation):
        cell = int(abs(observation[2] * 900 + observation[3] * 40)) % len(self.table)
        return int(self.weights @ observation + self.table[cell] > 0)


def new_arm(generation, number):
    table = rng.normal(size=3000) * 0.05
    body = {"table": table, "weights": rng.normal(size=4), "__doc__": f"arm {number} of generation {generation}"}
    return type(f"Arm_{generation}_{number}", (Arm,), body)


class Bandit:
    def __init__(self, arms):
        self.arms = arms
        self.pulls = [0] * len(arms)
        self.sums = [0.0] * len(arms)

    def choose(self):
        for index, pulls in enumerate(self.pulls):
            if not pulls:
                return index
        total = sum(self.pulls)
        score = [s / p + 20 * math.sqrt(math.log(total) / p) for s, p in zip(self.sums, self.pulls)]
        return score.index(max(score))

    def learn(self, index, reward):
        self.pulls[index] += 1
        self.sums[index] += reward


def episode(env, policy, limit=70):
    observation, _ = env.reset(seed=int(rng.integers(1 << 30)))
    total = 0.0
    for _ in range(limit):
        observation, reward, terminated, truncated, _ = env.step(policy.act(observation))
        total += reward
        if terminated or truncated:
            break
    return total


def search(generations):
    env = gymnasium.make("CartPole-v1")
    best = deque(maxlen=5)
    curve = []
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for generation in guard.generations(range(1, generations + 1)):
            with guard.phase("propose"):
                bandit = Bandit([new_arm(generation, n)() for n in range(6)])
            with guard.phase("play"):
                for _ in range(22):
                    index = bandit.choose()
                    bandit.learn(index, episode(env, bandit.arms[index]))
            with guard.phase("select"):
                top = max(range(6), key=lambda i: bandit.sums[i] / bandit.pulls[i])
                best.append((type(bandit.arms[top]).__name__, bandit.arms[top].weights))
                curve.append(max(bandit.sums))
                if not KEEP:
                    Arm.registry.clear()
                    bandit.arms.clear()
                    gc.collect()
    env.close()
    return best, curve


best, curve = search(54)
print(best[-1][0], round(sum(curve) / len(curve), 1), "registered", len(Arm.registry))
