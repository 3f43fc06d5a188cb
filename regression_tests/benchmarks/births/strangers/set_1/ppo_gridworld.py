"""Actor-critic on a grid world: collect, update, evaluate."""
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(3)
rng = np.random.default_rng(3)


class GridWorld:
    open_worlds = []

    def __init__(self, size=80):
        self.size = size
        self.costs = rng.random((size, size))
        self.pos = np.array([size // 2, size // 2])
        GridWorld.open_worlds.append(self)

    def close(self):
        GridWorld.open_worlds.remove(self)

    def observe(self):
        y, x = np.clip(self.pos, 4, self.size - 5)
        return self.costs[y - 4:y + 4, x - 4:x + 4].astype(np.float32).ravel()

    def step(self, action):
        self.pos = (self.pos + [(0, 1), (1, 0), (0, -1), (-1, 0)][action]) % self.size
        return self.observe(), -float(self.costs[tuple(self.pos)])


class Episode:
    def __init__(self, observations, actions, rewards):
        self.observations = torch.from_numpy(np.stack(observations))
        self.actions = torch.tensor(actions)
        self.rewards = torch.tensor(rewards)


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 4))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.episodes = deque(maxlen=3) if FIXED else deque()
        self.kl_log = []
        self.returns = deque(maxlen=20)

    def act(self, observation):
        with torch.no_grad():
            logits = self.net(torch.from_numpy(observation)[None])
        return int(torch.distributions.Categorical(logits=logits).sample())

    def collect(self, world, steps=300):
        observations, actions, rewards = [], [], []
        observation = world.observe()
        for _ in range(steps):
            action = self.act(observation)
            observations.append(observation)
            observation, reward = world.step(action)
            actions.append(action)
            rewards.append(reward)
        self.episodes.append(Episode(observations, actions, rewards))
        self.returns.append(sum(rewards))

    def update(self):
        for episode in list(self.episodes)[-3:]:
            log_probs = self.net(episode.observations).log_softmax(-1)
            old = log_probs.detach()
            picked = log_probs.gather(1, episode.actions[:, None])[:, 0]
            loss = -(picked * (episode.rewards - episode.rewards.mean())).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        new = self.net(episode.observations).log_softmax(-1)
        kl = (old.exp() * (old - new)).sum(-1).mean()
        self.kl_log.append(kl.item() if FIXED else kl)


def evaluate(agent):
    world = GridWorld()
    total = 0.0
    for _ in range(100):
        total += world.step(agent.act(world.observe()))[1]
    if FIXED:
        world.close()
    return total


agent = Agent()
training_world = GridWorld()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for generation in guard.generations(range(60)):
        with guard.phase("collect"):
            agent.collect(training_world)
        with guard.phase("update"):
            agent.update()
        with guard.phase("evaluate"):
            score = evaluate(agent)
print("score", round(score, 2), "mean return", round(sum(agent.returns) / len(agent.returns), 2))
