"""Actor-critic for couriers who carry parcels over rough terrain; some districts are rebuilt in every update."""
import random
import sys
import weakref
from collections import OrderedDict, deque

import numpy as np
import torch
from torch import nn

TIDY = sys.argv[1] == "fixed"
UPDATES, HORIZON, DISTRICTS, SIDE, SIGHT = 70, 24, 12, 48, 2
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


class Depot:
    opened = returned = 0

    def checkout(self):
        self.opened += 1
        return self.opened


class District:
    def __init__(self, depot, seed):
        self.depot, self.number = depot, depot.checkout()
        self.rng = np.random.default_rng(seed)
        rough = self.rng.random((SIDE, SIDE))
        for _ in range(3):
            rough = (rough + np.roll(rough, 1, 0) + np.roll(rough, 1, 1) + np.roll(rough, -1, 0)) / 4
        self.terrain = np.pad(rough, SIGHT, constant_values=1.0)
        self.goal = self.rng.integers(4, SIDE - 4, 2)
        self.distance = self._cost_to_go(rough)
        self.close = weakref.finalize(self, self._release)
        self.reset()

    def _cost_to_go(self, rough):
        cost = np.full((SIDE + 2, SIDE + 2), 1e3)
        cost[self.goal[0] + 1, self.goal[1] + 1] = 0.0
        for _ in range(SIDE * 3 // 4):
            near = np.minimum.reduce([cost[:-2, 1:-1], cost[2:, 1:-1], cost[1:-1, :-2], cost[1:-1, 2:]])
            cost[1:-1, 1:-1] = np.minimum(cost[1:-1, 1:-1], near + 0.2 + rough)
        return np.minimum(cost[1:-1, 1:-1], 99.0)

    def _release(self):
        self.depot.returned += 1

    def reset(self):
        self.at = self.rng.integers(0, SIDE, 2)
        self.left = 60
        return self.observe()

    def observe(self):
        row, col = self.at
        view = self.terrain[row:row + 2 * SIGHT + 1, col:col + 2 * SIGHT + 1]
        return np.concatenate([view.ravel(), (self.goal - self.at) / SIDE, self.at / SIDE]).astype(np.float32)

    def step(self, action):
        before, self.left = self.distance[tuple(self.at)], self.left - 1
        self.at = np.clip(self.at + MOVES[action], 0, SIDE - 1)
        gain = before - self.distance[tuple(self.at)]
        return float(np.clip(gain, -2, 2)) - 0.05, self.left == 0 or bool((self.at == self.goal).all())


class Policy(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        inputs = (2 * SIGHT + 1) ** 2 + 4
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, 4), nn.Linear(width, 1)

    def forward(self, seen):
        hidden = self.trunk(seen)
        return torch.distributions.Categorical(logits=self.actor(hidden)), self.critic(hidden).squeeze(-1)


class CriticMonitor:
    """Smoothed explained variance of the critic: once it is trusted, it sets the weight of the value loss."""

    def __init__(self, trust_from):
        self.trust_from, self.fit, self.weight = trust_from, torch.tensor(0.0), 0.5

    def update(self, turn, policy, seen, returns):
        if turn < self.trust_from:
            return
        _, values = policy(seen)
        explained = 1 - (returns - values).var() / (returns.var() + 1e-6)
        if TIDY:
            explained = explained.detach()
        self.fit = 0.9 * self.fit + 0.1 * explained
        self.weight = 0.5 if self.fit.item() < 0.5 else 0.25


class Fleet:
    def __init__(self, seed):
        self.depot, self.random = Depot(), random.Random(seed)
        self.districts = [District(self.depot, seed + index) for index in range(DISTRICTS)]
        self.seen = np.stack([district.observe() for district in self.districts])
        self.policy = Policy()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=2e-3)
        self.monitor = CriticMonitor(trust_from=UPDATES * 2 // 5)
        self.recent, self.routes = deque(maxlen=200), OrderedDict()

    def rebuild(self, turn):
        for index in self.random.sample(range(DISTRICTS), 2):
            if TIDY:
                self.districts[index].close()
            self.districts[index] = District(self.depot, 1000 * turn + index)
            self.seen[index] = self.districts[index].observe()

    def rollout(self):
        memory = []
        for _ in range(HORIZON):
            seen = torch.from_numpy(self.seen.copy())
            with torch.no_grad():
                dist, value = self.policy(seen)
            action = dist.sample()
            reward, over = np.zeros(DISTRICTS, np.float32), np.zeros(DISTRICTS, np.float32)
            for index, district in enumerate(self.districts):
                reward[index], done = district.step(int(action[index]))
                over[index] = done
                self.seen[index] = district.reset() if done else district.observe()
                self.routes[district.number % 40, tuple(district.at)] = reward[index]
                if len(self.routes) > 3000:
                    self.routes.popitem(last=False)
            self.recent.append(float(reward.mean()))
            memory.append((seen, action, dist.log_prob(action), value, torch.from_numpy(reward), torch.from_numpy(over)))
        return memory

    def learn(self, turn, memory):
        running, returns = torch.zeros(DISTRICTS), []
        for _, _, _, _, reward, over in reversed(memory):
            running = reward + 0.95 * running * (1 - over)
            returns.insert(0, running)
        seen, action, old, value = (torch.cat([step[part] for step in memory]) for part in range(4))
        returns = torch.cat(returns)
        advantage = returns - value
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        for _ in range(3):
            for part in torch.randperm(len(seen)).split(96):
                dist, guess = self.policy(seen[part])
                ratio = (dist.log_prob(action[part]) - old[part]).exp()
                gain = torch.min(ratio * advantage[part], ratio.clamp(0.8, 1.2) * advantage[part]).mean()
                loss = -gain + self.monitor.weight * (guess - returns[part]).pow(2).mean() - 0.01 * dist.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        self.monitor.update(turn, self.policy, seen, returns)

    def correlation(self):
        gram = torch.zeros(64, 64)

        def tally(module, inputs, output):
            if not module.training:
                gram.addmm_(output.T, output)

        handle = self.policy.trunk.register_forward_hook(tally)
        self.policy.eval()
        with torch.no_grad():
            self.policy(torch.from_numpy(np.stack([district.reset() for district in self.districts])))
        self.policy.train()
        if TIDY:
            handle.remove()
        return float((gram - gram.diag().diag()).abs().sum() / gram.abs().sum())


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    fleet, shared = Fleet(seed=5), 0.0
    for turn in range(1, UPDATES + 1):
        fleet.rebuild(turn)
        fleet.learn(turn, fleet.rollout())
        if turn > UPDATES // 2:
            shared = fleet.correlation()
        if turn % 10 == 0:
            print(f"update {turn:3d} reward {sum(fleet.recent) / len(fleet.recent):+.3f} shared {shared:.3f}", flush=True)


main()
