"""PPO on a vectorised grid world: walk to the goal, avoid the pits."""
import collections
import sys

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
SIDE, ENVS, HORIZON, UPDATES = 9, 128, 16, 55


class GridWorld:
    """All environments at once; an environment that ends starts again."""

    def __init__(self, count, seed):
        self.rng = np.random.default_rng(seed)
        self.count = count
        self.pits = self.rng.integers(0, SIDE, (6, 2))
        self.goal = np.array([SIDE - 1, SIDE - 1])
        self.position = np.zeros((count, 2), dtype=np.int64)
        self.age = np.zeros(count, dtype=np.int64)

    def observe(self):
        view = np.zeros((self.count, 4 * SIDE), dtype=np.float32)
        rows = np.arange(self.count)
        view[rows, self.position[:, 0]] = 1.0
        view[rows, SIDE + self.position[:, 1]] = 1.0
        view[:, 2 * SIDE:2 * SIDE + 2] = (self.goal - self.position) / SIDE
        for number, pit in enumerate(self.pits):
            view[:, 2 * SIDE + 2 + number] = np.abs(self.position - pit).sum(1) / (2 * SIDE)
        return view

    def step(self, actions):
        moves = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
        self.position = np.clip(self.position + moves[actions], 0, SIDE - 1)
        self.age += 1
        won = (self.position == self.goal).all(1)
        lost = (self.position[:, None, :] == self.pits[None]).all(2).any(1)
        reward = won * 1.0 - lost * 1.0 - 0.01
        done = won | lost | (self.age > 60)
        self.position[done] = 0
        self.age[done] = 0
        return reward.astype(np.float32), done


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(4 * SIDE, 64), nn.Tanh(), nn.Linear(64, 4))
        self.critic = nn.Sequential(nn.Linear(4 * SIDE, 64), nn.Tanh(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=3e-3)
        self.value_level = torch.zeros(())
        self.recent = collections.deque(maxlen=10)

    def rollout(self, world):
        batch = {"obs": [], "act": [], "logp": [], "rew": [], "done": []}
        for _ in range(HORIZON):
            obs = torch.from_numpy(world.observe())
            with torch.no_grad():
                choice = torch.distributions.Categorical(logits=self.policy(obs))
                action = choice.sample()
            reward, done = world.step(action.numpy())
            for key, value in zip(batch, (obs, action, choice.log_prob(action),
                                          torch.from_numpy(reward), torch.from_numpy(done))):
                batch[key].append(value)
        return {key: torch.stack(values) for key, values in batch.items()}

    def advantages(self, batch):
        values = self.critic(batch["obs"]).squeeze(-1)
        level = values.mean().detach() if FIXED else values.mean()
        self.value_level = 0.9 * self.value_level + 0.1 * level
        plain = values.detach()
        total = plain[-1].clone()
        returns = torch.zeros_like(plain)
        for t in reversed(range(HORIZON)):
            total = batch["rew"][t] + 0.97 * total * (~batch["done"][t])
            returns[t] = total
        advantage = returns - plain
        return returns, (advantage - advantage.mean()) / (advantage.std() + 1e-6)

    def update(self, batch, returns, advantage):
        obs = batch["obs"].flatten(0, 1)
        action, old = batch["act"].flatten(), batch["logp"].flatten()
        returns, advantage = returns.flatten(), advantage.flatten()
        for _ in range(4):
            for part in torch.randperm(len(obs)).split(512):
                choice = torch.distributions.Categorical(logits=self.policy(obs[part]))
                ratio = (choice.log_prob(action[part]) - old[part]).exp()
                gain = torch.min(ratio * advantage[part], ratio.clamp(0.8, 1.2) * advantage[part]).mean()
                error = (self.critic(obs[part]).squeeze(-1) - returns[part]).pow(2).mean()
                loss = 0.5 * error - gain - 0.01 * choice.entropy().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    world, agent = GridWorld(ENVS, seed=3), Agent()
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for _ in guard.generations(range(UPDATES)):
            with guard.phase("rollout"):
                batch = agent.rollout(world)
                agent.recent.append(batch["rew"].sum(0))
            with guard.phase("advantages"):
                returns, advantage = agent.advantages(batch)
            with guard.phase("update"):
                agent.update(batch, returns, advantage)
    print(f"reward {torch.stack(list(agent.recent)).mean():.3f}, value level {agent.value_level.item():.3f}")


main()
