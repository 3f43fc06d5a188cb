"""A vector of small navigation tasks, played by a policy that is tuned by random search."""
import collections
import sys

import gymnasium
import numpy as np

from leakguard import LeakGuard
from leakguard.integrations.gymnasium import WatchedVectorEnv

MODE = sys.argv[1]


class Harbour(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-10, 10, (6,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-3, 3, 2)
        self.speed = np.zeros(2)
        self.goal = self.np_random.uniform(-3, 3, 2)
        self.t = 0
        return self._look(), {"distance": 0.0, "collisions": 0}

    def _look(self):
        return np.concatenate([self.place, self.speed, self.goal - self.place]).clip(-10, 10).astype(np.float32)

    def step(self, action):
        self.speed = 0.9 * self.speed + 0.1 * np.asarray(action)
        self.place = self.place + self.speed + self.np_random.normal(0, 0.01, 2)
        self.t += 1
        distance = float(np.linalg.norm(self.goal - self.place))
        return (self._look(), -distance, distance < 0.2, self.t >= 120,
                {"distance": distance, "collisions": int(np.abs(self.place).max() > 4)})


def play():
    rng = np.random.default_rng(2)
    envs = gymnasium.vector.SyncVectorEnv([Harbour] * 12)
    guard = LeakGuard(out=f"runs/first_sight/p6-{MODE}.jsonl")
    envs = WatchedVectorEnv(envs, guard)
    telemetry = [] if MODE == "leak" else collections.deque(maxlen=300)
    best, gains = -np.inf, np.array([0.5, -0.5])
    observations, _ = envs.reset(seed=4)
    for trial in range(60):
        candidate = gains + rng.normal(0, 0.3, 2)
        total = 0.0
        for _ in range(250):
            actions = (candidate[0] * observations[:, 4:] + candidate[1] * observations[:, 2:4]).clip(-1, 1).astype(np.float32)
            observations, rewards, _, _, infos = envs.step(actions)
            telemetry.append(infos)
            total += float(rewards.mean())
        if total > best:
            best, gains = total, candidate
    envs.close()
    recent = list(telemetry)[-300:]
    print("RESULT", best, gains.tolist(), float(np.mean([i["distance"].mean() for i in recent])))


play()
