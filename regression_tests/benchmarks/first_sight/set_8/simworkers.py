"""Three worker threads simulate a cart with random linear policies; main joins them and picks the best."""
import sys
import threading
import time

import numpy as np

EPISODES = 80


class Transition:
    def __init__(self, obs, action, reward):
        self.obs = obs
        self.action = action
        self.reward = reward


class Episode:
    def __init__(self, policy):
        self.policy = policy
        self.transitions = []

    @property
    def total(self):
        return sum(t.reward for t in self.transitions)


class Cart:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.normal(scale=0.1, size=4)
        return self.s

    def step(self, a):
        noise = self.rng.normal(scale=0.01, size=4)
        self.s = 0.98 * self.s + 0.1 * a * np.array([0.0, 1.0, 0.0, -0.5]) + noise
        return self.s, 1.0 - float(self.s @ self.s)


class SimWorker(threading.Thread):
    def __init__(self, number, mode):
        super().__init__(name=f"sim-{number}")
        self.env = Cart(number)
        self.rng = np.random.default_rng(100 + number)
        self.mode = mode
        self.best = None
        self.finished = []
        self.count = 0

    def run(self):
        for _ in range(EPISODES):
            episode = self.rollout(self.rng.normal(size=4))
            if self.best is None or episode.total > self.best.total:
                self.best = episode
            self.finished.append(episode)
            if self.mode != "leak":
                self.finished = self.finished[-3:]
            self.count += 1
            time.sleep(0.07)  # the simulator's socket

    def rollout(self, policy):
        episode = Episode(policy)
        obs = self.env.reset()
        for _ in range(150):
            action = float(np.tanh(obs @ policy))
            nxt, reward = self.env.step(action)
            episode.transitions.append(Transition(obs, action, reward))
            obs = nxt
        return episode


if __name__ == "__main__":
    workers = [SimWorker(i, sys.argv[1]) for i in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    for w in workers:
        print(w.name, w.count, round(w.best.total, 4))

# /// truth
# about = "three worker threads keep each episode; the main thread joins them"
# [[leak]]
# type = ["Episode", "Transition"]
# holder = ["finished"]
# line = ["episode = Episode(policy)", "episode.transitions.append(Transition(obs, action, reward))"]
# ///
