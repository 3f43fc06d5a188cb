import sys
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)


class RewardScale(gym.Wrapper):
    """Scales rewards by the curriculum factor and keeps a window for statistics."""

    def __init__(self, env, factor):
        super().__init__(env)
        self.factor = factor
        self.window = np.zeros(8192)
        self.pos = 0

    def step(self, action):
        obs, reward, term, trunc, info = self.env.step(action)
        self.window[self.pos % 8192] = reward
        self.pos += 1
        return obs, reward * self.factor, term, trunc, info


class Collector:
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.obs, _ = self.env.reset(seed=1)

    def set_difficulty(self, factor):
        inner = self.env.unwrapped if MODE == "fixed" else self.env
        self.env = RewardScale(inner, factor)

    def rollout(self, net, steps):
        batch = []
        self.obs, _ = self.env.reset()
        for _ in range(steps):
            with torch.no_grad():
                logits, _ = net(torch.as_tensor(self.obs)[None])
            action = int(torch.distributions.Categorical(logits=logits).sample())
            nxt, reward, term, trunc, _ = self.env.step(action)
            batch.append((self.obs, action, reward, term))
            self.obs = nxt
            if term or trunc:
                self.obs, _ = self.env.reset()
        return batch


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh())
        self.pi = nn.Linear(96, 2)
        self.v = nn.Linear(96, 1)

    def forward(self, x):
        h = self.body(x)
        return self.pi(h), self.v(h).squeeze(-1)


class ValueMonitor:
    """Smoothed level of the critic, printed for the dashboard."""

    def __init__(self):
        self.level = torch.zeros(())

    def update(self, estimate):
        if MODE == "fixed":
            estimate = estimate.detach()
        self.level = 0.95 * self.level + 0.05 * estimate


def returns_of(batch, gamma=0.99):
    out, running = [], 0.0
    for _, _, reward, term in reversed(batch):
        running = reward + gamma * running * (not term)
        out.append(running)
    return torch.tensor(out[::-1], dtype=torch.float32)


def main():
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=3e-4)
    collector, monitor = Collector(), ValueMonitor()
    memory = deque(maxlen=6000)
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for it in guard.generations(range(1, 37)):
            with guard.phase("collect"):
                collector.set_difficulty(1.0 + 0.01 * it)
                batch = collector.rollout(net, 500)
                memory.extend(batch)
            with guard.phase("learn"):
                obs = torch.as_tensor(np.array([b[0] for b in batch]))
                acts = torch.tensor([b[1] for b in batch])
                ret = returns_of(batch)
                for _ in range(4):
                    logits, value = net(obs)
                    logp = torch.distributions.Categorical(logits=logits).log_prob(acts)
                    adv = ret - value
                    loss = -(logp * adv.detach()).mean() + 0.5 * adv.pow(2).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            with guard.phase("report"):
                picks = np.random.default_rng(it).integers(0, len(memory), 256)
                seen = torch.as_tensor(np.array([memory[i][0] for i in picks]))
                monitor.update(net(seen)[1].mean())
                if it % 12 == 0:
                    print(it, f"loss {loss.item():.3f} level {monitor.level.item():.3f}")


main()
