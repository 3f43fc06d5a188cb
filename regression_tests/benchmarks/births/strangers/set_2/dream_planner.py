"""Model-based reinforcement learning: collect, fit a world model, dream in it, improve the policy."""
import collections
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(4)
OBS, ACT, ITERATIONS, WARMUP = 24, 4, 48, 12
scratch = threading.local()


class Episode:
    def __init__(self, observations, actions, rewards):
        self.observations, self.actions, self.rewards = observations, actions, rewards


class Memory:
    def __init__(self):
        self.episodes = [] if LEAK else collections.deque(maxlen=5)

    def add(self, policy):
        observations = torch.randn(400, OBS).cumsum(0) / 10
        with torch.no_grad():
            actions = policy(observations).tanh()
        rewards = (observations[:, :ACT] * actions).sum(1).tolist()
        self.episodes.append(Episode(observations, actions, rewards))


class Critic:
    """Value network with a slowly moving baseline."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(OBS, 128), nn.ELU(), nn.Linear(128, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.baseline = torch.zeros(())

    def fit(self, episode, iteration):
        returns = torch.tensor(episode.rewards).flip(0).cumsum(0).flip(0)
        loss = F.smooth_l1_loss(self.net(episode.observations).squeeze(1), returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if iteration > WARMUP:
            value = self.net(episode.observations).mean()
            self.baseline = 0.9 * self.baseline + 0.1 * (value if LEAK else value.detach())


class Planner:
    def __init__(self):
        self.world = nn.Sequential(nn.Linear(OBS + ACT, 128), nn.ELU(), nn.Linear(128, OBS))
        self.running = []

    def dream(self, policy, start, horizon=6):
        states = start.repeat(80, 1)
        for _ in range(horizon):
            with torch.no_grad():
                states = self.world(torch.cat([states, policy(states).tanh()], 1))
            yield states.mean()

    def plan(self, policy, start):
        dream = self.dream(policy, start)
        if LEAK:
            self.running.append(dream)
        return next(value for value, _ in zip(dream, range(3)))


def improve(policy, optimizer, episode, advantage, iteration):
    if not hasattr(scratch, "windows"):
        scratch.windows = []
    if iteration % 3 == 0:
        scratch.windows.append(episode.observations.unfold(0, 20, 1).clone())
    loss = -(policy(episode.observations).tanh() * episode.observations[:, :ACT]).mean() * (1 + advantage)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not LEAK:
        scratch.windows.clear()


policy = nn.Sequential(nn.Linear(OBS, 64), nn.Tanh(), nn.Linear(64, ACT))
policy_optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
memory, critic, planner = Memory(), Critic(), Planner()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for iteration in guard.generations(range(1, ITERATIONS + 1)):
        with guard.phase("collect"):
            memory.add(policy)
        with guard.phase("critic"):
            critic.fit(memory.episodes[-1], iteration)
        with guard.phase("dream"):
            outlook = planner.plan(policy, memory.episodes[-1].observations[:10])
        with guard.phase("improve"):
            improve(policy, policy_optimizer, memory.episodes[-1], abs(float(outlook)), iteration)
        time.sleep(0.06)
print("baseline", critic.baseline.item())
