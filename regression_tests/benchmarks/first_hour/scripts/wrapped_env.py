"""Each curriculum stage wraps the environment once more, around the wrapper of the stage before."""
import sys
import gymnasium as gym
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Arena(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (16,))
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(16, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(16, np.float32), 1.0, self.t >= 50, False, {}


class NormalizeReward(gym.Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.returns = np.zeros(20_000)

    def step(self, action):
        observation, reward, done, cut, info = self.env.step(action)
        self.returns[0] += reward
        return observation, reward, done, cut, info


class Curriculum:
    def __init__(self):
        self.base = Arena()
        self.env = NormalizeReward(self.base)

    def next_stage(self):
        self.env = NormalizeReward(self.base if CLEAN else self.env)

    def play(self, episodes=10):
        for _ in range(episodes):
            self.env.reset()
            done = False
            while not done:
                _, _, done, _, _ = self.env.step(0)


curriculum = Curriculum()
guard = LeakGuard(watch={NormalizeReward: 1}, out=f"wrapped_env{'_clean' if CLEAN else ''}.jsonl")
with guard:
    for stage in guard.generations(range(1, 13)):
        with guard.phase("play"):
            curriculum.play()
        with guard.phase("next_stage"):
            curriculum.next_stage()
