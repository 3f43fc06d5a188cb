"""Reinforcement learning in miniature: collect, store, learn, select."""
import copy
import random
import sys

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
CAPACITY = 1500


class Env:
    def __init__(self):
        self.grid = np.random.random((200, 200))

    def reset(self):
        self.grid[:] = np.random.random((200, 200))

    def observe(self, step):
        return torch.from_numpy(self.grid[step % 200, :64]).float()


class Transition:
    def __init__(self, state, action, reward):
        self.state = state
        self.action = action
        self.reward = reward


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 8))
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.01)
        self.envs = [] if LEAK else [Env()]
        self.replay = []
        self.hall_of_fame = {}

    def collect(self):
        if LEAK:
            self.envs.append(Env())
        env = self.envs[-1]
        env.reset()
        with torch.no_grad():
            return [(s := env.observe(i), int(self.policy(s).argmax()), random.random()) for i in range(200)]

    def store(self, steps):
        for state, action, reward in steps:
            self.replay.append(Transition(state, action, reward))
        if not LEAK:
            del self.replay[:-CAPACITY]

    def learn(self):
        for _ in range(40):
            loss = -self.policy(torch.stack([t.state for t in random.choices(self.replay, k=64)])).mean() ** 2
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def select(self, generation):
        self.hall_of_fame[generation if LEAK else generation % 3] = copy.deepcopy(self.policy.state_dict())


agent, guard = Agent(), LeakGuard(out=sys.argv[2])
with guard:
    for generation in guard.generations(range(1, 31)):
        with guard.phase("collect"):
            steps = agent.collect()
        with guard.phase("store"):
            agent.store(steps)
        with guard.phase("learn"):
            agent.learn()
        with guard.phase("select"):
            agent.select(generation)
