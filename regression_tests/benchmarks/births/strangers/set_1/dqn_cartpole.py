"""Deep Q-learning on CartPole with an epsilon-greedy policy."""
import random
import sys
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)


class Replay:
    capacity = 2000

    def __init__(self):
        self.items = []

    def push(self, obs, action, reward, following, done):
        self.items.append((obs, action, reward, following, done))
        if FIXED and len(self.items) > self.capacity:
            del self.items[0]

    def sample(self, count):
        rows = random.sample(self.items[-self.capacity:], count)
        obs, act, rew, nxt, done = zip(*rows)
        return (torch.from_numpy(np.stack(obs)), torch.tensor(act), torch.tensor(rew),
                torch.from_numpy(np.stack(nxt)), torch.tensor(done, dtype=torch.float32))


class Recorder:
    """Draws an evaluation as pictures, for the report."""

    def __init__(self):
        self.movies = deque(maxlen=2) if FIXED else []

    def record(self, states):
        frames = np.zeros((len(states), 84, 84), np.uint8)
        for frame, state in zip(frames, states):
            column = int(np.clip(42 + state[0] * 15, 2, 81))
            frame[60:64, column - 2:column + 2] = 255
        self.movies.append({"frames": frames, "length": len(states)})


class Learner:
    def __init__(self):
        self.q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
        self.target = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
        self.optimizer = torch.optim.Adam(self.q.parameters(), 1e-3)
        self.env = gym.make("CartPole-v1")
        self.replay = Replay()
        self.recorder = Recorder()
        self.lengths = deque(maxlen=50)

    def act(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(obs)).argmax())

    def explore(self, round_number, steps=250):
        obs, _ = self.env.reset(seed=round_number)
        for _ in range(steps):
            action = self.act(obs, 0.3)
            following, reward, terminated, truncated, _ = self.env.step(action)
            self.replay.push(obs, action, reward, following, terminated)
            obs = following
            if terminated or truncated:
                obs, _ = self.env.reset()

    def learn(self, updates=12):
        for _ in range(updates):
            obs, act, rew, nxt, done = self.replay.sample(64)
            with torch.no_grad():
                goal = rew + 0.98 * self.target(nxt).max(1).values * (1 - done)
            loss = nn.functional.mse_loss(self.q(obs).gather(1, act[:, None])[:, 0], goal)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        self.target.load_state_dict(self.q.state_dict())

    def evaluate(self, round_number):
        obs, _ = self.env.reset(seed=1000)
        states = []
        for _ in range(60):
            states.append(obs)
            obs, _, terminated, _, _ = self.env.step(self.act(obs, 0.0))
            if terminated:
                obs, _ = self.env.reset()
        self.lengths.append(len(states))
        if round_number % 3 == 0:
            self.recorder.record(states)


learner = Learner()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(1, 91)):
        with guard.phase("explore"):
            learner.explore(number)
        with guard.phase("learn"):
            learner.learn()
        with guard.phase("evaluate"):
            learner.evaluate(number)
learner.env.close()
print("rounds", number, "mean length", sum(learner.lengths) / len(learner.lengths))
