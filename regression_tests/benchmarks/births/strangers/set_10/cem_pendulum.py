"""Cross-entropy search for a pendulum controller; gusts are added once the search has settled."""
import functools
import os
import sys
from collections import deque

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np

TIDY = sys.argv[1] == "fixed"
GENERATIONS = 80
POPULATION = 9
ELITE = 3
HORIZON = 170
GUSTS_FROM = 26


class Policy:
    """Radial basis functions over angle and speed, with one weight each."""

    centres = np.stack(np.meshgrid(np.linspace(-3, 3, 6), np.linspace(-7, 7, 5)), -1).reshape(-1, 2)

    def __init__(self, weights):
        self.weights = weights

    def act(self, angle, speed):
        near = (self.centres[:, 0] - angle) ** 2 + 0.2 * (self.centres[:, 1] - speed) ** 2
        return 2.0 * np.tanh(self.weights @ np.exp(-near))

    @functools.lru_cache(maxsize=4 if TIDY else None)
    def torque_map(self, resolution):
        angle, speed = np.meshgrid(np.linspace(-3, 3, resolution), np.linspace(-7, 7, resolution))
        near = (angle[..., None] - self.centres[:, 0]) ** 2
        near += 0.2 * (speed[..., None] - self.centres[:, 1]) ** 2
        return 2.0 * np.tanh(np.exp(-near) @ self.weights)

    def saturation(self):
        return float(np.mean(np.abs(self.torque_map(88)) > 1.9))

    def roughness(self):
        return float(np.abs(np.diff(self.torque_map(88), axis=0)).mean())


class Gusts(gym.Wrapper):
    """Adds a recorded wind trace to every torque."""

    def __init__(self, env, rng):
        super().__init__(env)
        self.trace = rng.normal(0.0, 0.15, 36_000)
        self.position = 0

    def step(self, action):
        self.position = (self.position + 1) % len(self.trace)
        return self.env.step(action + self.trace[self.position])


class Search:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.plain_env = gym.make("Pendulum-v1", max_episode_steps=HORIZON)
        self.env = self.plain_env
        self.mean = np.zeros(len(Policy.centres))
        self.spread = np.full(len(Policy.centres), 1.5)
        self.last_states = []
        self.recent = deque(maxlen=12)
        self.candidates_seen = {}

    def change_wind(self):
        self.env = Gusts(self.plain_env if TIDY else self.env, self.rng)

    def fly(self, policy, path, seed):
        observation, _ = self.env.reset(seed=seed)
        total = 0.0
        for t in range(HORIZON):
            angle = float(np.arctan2(observation[1], observation[0]))
            torque = policy.act(angle, float(observation[2]))
            observation, reward, _, cut, _ = self.env.step(np.array([torque]))
            path[t, :3] = observation
            path[t, 3] = torque
            path[t, 4] = reward
            total += reward
            if cut:
                break
        return total

    def generation(self, number):
        paths = np.zeros((POPULATION, HORIZON, 8))
        returns = np.zeros(POPULATION)
        weights = self.mean + self.spread * self.rng.normal(size=(POPULATION, len(self.mean)))
        for i in range(POPULATION):
            returns[i] = self.fly(Policy(weights[i]), paths[i], seed=number)
            self.candidates_seen[number, i] = weights[i].copy()
        order = np.argsort(returns)[::-1]
        elite = weights[order[:ELITE]]
        self.mean = 0.7 * self.mean + 0.3 * elite.mean(axis=0)
        self.spread = np.maximum(0.2, 0.8 * self.spread + 0.2 * elite.std(axis=0))
        final = paths[order[0], -1]
        self.last_states.append(final.tolist() if TIDY else final)
        self.recent.append(paths[order[0]].copy())
        return returns

    def describe(self):
        policy = Policy(self.mean.copy())
        return policy.saturation(), policy.roughness()

    def novelty(self):
        stack = np.array(list(self.candidates_seen.values()))
        return float(np.linalg.norm(stack - stack.mean(axis=0), axis=1).mean())


def main():
    search = Search(seed=7)
    for number in range(1, GENERATIONS + 1):
        if number >= GUSTS_FROM and number % 2 == 0:
            search.change_wind()
        returns = search.generation(number)
        saturated, rough = search.describe()
        if number % 20 == 0:
            angle = np.mean([abs(np.arctan2(state[1], state[0])) for state in search.last_states[-10:]])
            print(f"gen {number}: best {returns.max():.0f} mean {returns.mean():.0f} end angle {angle:.2f} "
                  f"saturated {saturated:.2f} rough {rough:.3f} novelty {search.novelty():.2f}")
            search.candidates_seen.clear()
    search.plain_env.close()


if __name__ == "__main__":
    main()
