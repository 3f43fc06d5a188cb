"""A2C on 16 small control tasks. A monitor keeps the info dict of every episode that ended, to print the
mean return of the last hundred."""

# /// truth
# about = "vectorised RL rollouts whose monitor keeps the info dict of every finished episode"
# [[leak]]
# type = ["dict", "ndarray"]
# holder = "episode_infos"
# phase = "rollout"
# start = 1
# within = 3
# kind = ["container", "instances", "arrays"]
# ///
import os
import sys
from collections import deque

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(7)
ENVS, STEPS, OBS, ACTIONS = 16, 64, 24, 4


class VecEnv:
    def __init__(self):
        self.dynamics = rng.normal(0, 0.2, (OBS, OBS))
        self.push = rng.normal(0, 0.5, (ACTIONS, OBS))
        self.state = rng.normal(size=(ENVS, OBS))
        self.length = np.zeros(ENVS, int)
        self.returns = np.zeros(ENVS)

    def step(self, actions):
        self.state = np.tanh(self.state @ self.dynamics + self.push[actions] + rng.normal(0, 0.1, (ENVS, OBS)))
        reward = 1.0 - np.abs(self.state[:, 0])
        self.length += 1
        self.returns += reward
        done = (rng.random(ENVS) < 0.03) | (self.length >= 60)
        infos = [{} for _ in range(ENVS)]
        for index in np.flatnonzero(done):
            infos[index] = {
                "episode": {"r": float(self.returns[index]), "l": int(self.length[index])},
                "terminal_observation": self.state[index].copy(),
                "TimeLimit.truncated": bool(self.length[index] >= 60),
            }
            self.state[index] = rng.normal(size=OBS)
            self.length[index] = 0
            self.returns[index] = 0
        return self.state.copy(), reward, done, infos


class Monitor:
    def __init__(self):
        self.episode_infos = [] if LEAK else deque(maxlen=100)

    def record(self, infos):
        for info in infos:
            if "episode" in info:
                self.episode_infos.append(info)

    def mean_return(self):
        last = list(self.episode_infos)[-100:]
        return sum(info["episode"]["r"] for info in last) / max(1, len(last))


def main():
    env, monitor = VecEnv(), Monitor()
    weights = rng.normal(0, 0.1, (OBS, ACTIONS))
    values = np.zeros(OBS)
    observation = env.state.copy()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for update in guard.generations(range(1, 401)):
            batch = []
            with guard.phase("rollout"):
                for _ in range(STEPS):
                    logits = observation @ weights
                    probabilities = np.exp(logits - logits.max(1, keepdims=True))
                    probabilities /= probabilities.sum(1, keepdims=True)
                    actions = (probabilities.cumsum(1) > rng.random((ENVS, 1))).argmax(1)
                    following, reward, done, infos = env.step(actions)
                    monitor.record(infos)
                    batch.append((observation, actions, probabilities, reward, done))
                    observation = following
            with guard.phase("learn"):
                target = observation @ values
                for seen, actions, probabilities, reward, done in reversed(batch):
                    target = reward + 0.98 * target * ~done
                    advantage = target - seen @ values
                    onehot = np.eye(ACTIONS)[actions]
                    weights += 1e-3 * seen.T @ ((onehot - probabilities) * advantage[:, None]) / ENVS
                    values += 1e-3 * seen.T @ advantage / ENVS
            if update % 100 == 0:
                print("update", update, "return", round(monitor.mean_return(), 2))


if __name__ == "__main__":
    main()
