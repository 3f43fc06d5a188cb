"""A fleet of foraging agents with a hand-written policy."""
import sys
from collections import deque

import gymnasium as gym
import numpy as np
from gymnasium import spaces

FIXED = sys.argv[1] == "fixed"


class Forage(gym.Env):
    observation_space = spaces.Box(0, 1, (9,), np.float32)
    action_space = spaces.Discrete(4)

    def __init__(self, side=140):
        self.side = side
        self.food = None
        self.place = (0, 0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.food = self.np_random.random((self.side, self.side))
        self.place = (self.side // 2, self.side // 2)
        return self.look(), {}

    def look(self):
        y, x = self.place
        rows, columns = np.arange(y - 1, y + 2) % self.side, np.arange(x - 1, x + 2) % self.side
        return self.food[np.ix_(rows, columns)].astype(np.float32).ravel()

    def step(self, action):
        dy, dx = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
        self.place = ((self.place[0] + dy) % self.side, (self.place[1] + dx) % self.side)
        reward = float(self.food[self.place])
        self.food[self.place] = 0
        return self.look(), reward, False, False, {}


gym.register("Forage-v0", entry_point=Forage, max_episode_steps=1000, disable_env_checker=True)


class Monitor:
    def __init__(self):
        self.episodes = []
        self.totals = deque(maxlen=100)

    def finish(self, looks, rewards):
        self.totals.append(sum(rewards))
        self.episodes.append({"looks": np.stack(looks), "rewards": np.array(rewards)})
        if FIXED:
            self.episodes = self.episodes[-10:]


class Fleet:
    def __init__(self):
        self.envs = []
        self.monitor = Monitor()

    def env(self, number):
        if FIXED and self.envs:
            return self.envs[0]
        self.envs.append(gym.make("Forage-v0"))
        return self.envs[-1]

    def episode(self, number):
        env = self.env(number)
        look, _ = env.reset(seed=number)
        looks, rewards = [], []
        for _ in range(900):
            action = int(np.argmax([look[1], look[7], look[3], look[5]]))
            look, reward, terminated, truncated, _ = env.step(action)
            looks.append(look)
            rewards.append(reward)
        self.monitor.finish(looks, rewards)


def main():
    fleet = Fleet()
    for number in range(250):
        fleet.episode(number)
    print("mean reward", round(sum(fleet.monitor.totals) / len(fleet.monitor.totals), 3))


if __name__ == "__main__":
    main()
