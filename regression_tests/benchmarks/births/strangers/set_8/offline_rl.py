"""Offline actor-critic on logged point-mass data, with residual heads per data shard."""
import copy
import sys
from collections import deque
from functools import lru_cache

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1]
EPOCHS, OBS, ACT, HIDDEN, BATCH, SHARDS = 50, 12, 4, 64, 256, 10
torch.set_num_threads(1)
torch.manual_seed(1)


def mlp(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN),
                         nn.ReLU(), nn.Linear(HIDDEN, outputs))


class LoggedData:
    def __init__(self, rng, size=20_000):
        self.rng = rng
        self.obs = rng.normal(size=(size, OBS)).astype(np.float32)
        self.act = np.tanh(rng.normal(size=(size, ACT))).astype(np.float32)
        self.next = (0.9 * self.obs + 0.1 * np.tile(self.act, 3)).astype(np.float32)
        self.rew = -np.square(self.next).mean(1, keepdims=True)
        self.moments = {}

    def normalise(self, shard):
        if shard not in self.moments:
            part = self.obs[shard::SHARDS]
            self.moments[shard] = (part.mean(0), np.cov(part.T), part[:500] - part[:500].mean(0))
        return self.moments[shard]

    def batch(self, shard):
        rows = self.rng.integers(0, len(self.obs) // SHARDS, BATCH) * SHARDS + shard
        return [torch.from_numpy(a[rows]) for a in (self.obs, self.act, self.rew, self.next)]


class PolicySnapshot:
    """A frozen policy, for comparing action values on fixed probe states."""

    def __init__(self, policy, critic):
        self.policy = copy.deepcopy(policy).requires_grad_(False)
        self.critic = critic

    @lru_cache(maxsize=32 if MODE == "fixed" else None)
    def values(self, probe):
        points = torch.linspace(-1, 1, 400)[:, None] * torch.ones(OBS) * (probe + 1) / 8
        return self.critic(torch.cat([points, self.policy(points)], 1)).detach()


class Learner:
    def __init__(self, data):
        self.data = data
        self.policy, self.critic = mlp(OBS, ACT), mlp(OBS + ACT, 1)
        self.target = copy.deepcopy(self.critic).requires_grad_(False)
        self.policy_opt = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.residual = None
        self.smoothed = torch.zeros(())
        self.imagined = deque(maxlen=30)
        self.returns = deque(maxlen=15)

    def start_shard(self):
        if MODE == "fixed" and self.residual is not None:
            for weight in self.critic_opt.param_groups.pop()["params"]:
                self.critic_opt.state.pop(weight, None)
        self.residual = nn.Sequential(nn.Linear(OBS + ACT, 128), nn.Tanh(), nn.Linear(128, 1))
        self.critic_opt.add_param_group({"params": list(self.residual.parameters()), "lr": 3e-4})

    def td_loss(self, batch):
        obs, act, rew, following = batch
        with torch.no_grad():
            action = torch.tanh(self.policy(following))
            goal = rew + 0.97 * self.target(torch.cat([following, action], 1))
        pair = torch.cat([obs, act], 1)
        value = self.critic(pair)
        if self.residual is not None:
            value = value + 0.1 * self.residual(pair)
        return nn.functional.mse_loss(value, goal)

    def improve(self, shard, steps=10):
        for _ in range(steps):
            batch = self.data.batch(shard)
            loss = self.td_loss(batch)
            self.critic_opt.zero_grad()
            loss.backward()
            self.critic_opt.step()
            action = torch.tanh(self.policy(batch[0]))
            actor = -self.critic(torch.cat([batch[0], action], 1)).mean() + nn.functional.mse_loss(action, batch[1])
            self.policy_opt.zero_grad()
            actor.backward()
            self.policy_opt.step()
            with torch.no_grad():
                for slow, fast in zip(self.target.parameters(), self.critic.parameters()):
                    slow.lerp_(fast, 0.01)

    def validate(self, shard):
        held_out = self.td_loss(self.data.batch(shard))
        if MODE == "fixed":
            held_out = held_out.detach()
        self.smoothed = 0.9 * self.smoothed + 0.1 * held_out
        return self.smoothed.item()

    @torch.no_grad()
    def imagine(self, shard):
        mean, cov, _ = self.data.normalise(shard)
        state = torch.from_numpy(np.float32(self.data.rng.multivariate_normal(mean, cov, 200)))
        path, total = [], 0.0
        for _ in range(10):
            state = 0.9 * state + 0.1 * torch.tanh(self.policy(state)).repeat(1, 3)
            path.append(state)
            total -= state.square().mean().item()
        self.imagined.append(torch.stack(path))
        self.returns.append(total)


def compare(learner):
    snapshot = PolicySnapshot(learner.policy, learner.critic)
    return max(snapshot.values(probe).max().item() for probe in range(16))


learner = Learner(LoggedData(np.random.default_rng(1)))
guard = LeakGuard(out=sys.argv[2])
with guard:
    for epoch in guard.generations(range(1, EPOCHS + 1)):
        shard = epoch % SHARDS
        with guard.phase("update"):
            if epoch >= 20:
                learner.start_shard()
            learner.improve(shard)
        with guard.phase("validate"):
            td = learner.validate(shard)
        with guard.phase("imagine"):
            learner.imagine(shard)
        with guard.phase("compare"):
            top = compare(learner)
        if epoch % 10 == 0:
            print(f"{epoch:3d} td {td:.4f} return {np.mean(learner.returns):.3f} top value {top:.3f}")
