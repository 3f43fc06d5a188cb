"""Evolutionary RL: a population of actors on a batched point-mass task, refined by gradient steps."""
import argparse
import copy
import itertools
import random
from dataclasses import dataclass

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HIDDEN = 768 if DEVICE == "cuda" else 160
ENVS = 512 if DEVICE == "cuda" else 64
HORIZON = 60 if DEVICE == "cuda" else 30
UPDATES = 16 if DEVICE == "cuda" else 8
OBS, ACT = 24, 8


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(),
                                  nn.Linear(HIDDEN, ACT), nn.Tanh())

    def forward(self, obs):
        return self.body(obs)


class PointMass:
    """ENVS copies of a linear system, stepped on the device."""

    def __init__(self):
        g = torch.Generator().manual_seed(3)
        self.A = (torch.eye(OBS) * 0.92 + 0.02 * torch.randn(OBS, OBS, generator=g)).to(DEVICE)
        self.B = (0.3 * torch.randn(ACT, OBS, generator=g)).to(DEVICE)
        self.state = torch.zeros(ENVS, OBS, device=DEVICE)

    def reset(self):
        self.state.normal_()
        return self.state.clone()

    def step(self, action):
        self.state.copy_(self.state @ self.A + action @ self.B)
        self.state.clamp_(-5, 5)
        return self.state.clone(), -self.state.square().mean(1)


class ReplayBuffer:
    """A ring of observations on the device."""

    def __init__(self, capacity):
        self.obs = torch.zeros(capacity, OBS, device=DEVICE)
        self.capacity, self.head, self.size = capacity, 0, 0

    def add(self, obs):
        at = (torch.arange(len(obs), device=DEVICE) + self.head) % self.capacity
        self.obs[at] = obs
        self.head = (self.head + len(obs)) % self.capacity
        self.size = min(self.capacity, self.size + len(obs))

    def sample(self, n):
        return self.obs[torch.randint(0, self.size, (n,), device=DEVICE)]


@dataclass
class Individual:
    uid: int
    actor: Actor
    fitness: float = float("-inf")
    born: int = 0


class EvolutionStrategy:
    def __init__(self, size, lr):
        self.ids = itertools.count()
        self.lr = lr
        self.env = PointMass()
        self.replay = ReplayBuffer(200_000 if DEVICE == "cuda" else 10_000)
        self.optimizers = {}
        self.population = [self.spawn(Actor().to(DEVICE), 0) for _ in range(size)]
        self.champion, self.champion_fitness = None, float("-inf")

    def spawn(self, actor, generation):
        ind = Individual(next(self.ids), actor, born=generation)
        self.optimizers[ind.uid] = torch.optim.Adam(actor.parameters(), lr=self.lr)
        return ind

    @torch.no_grad()
    def rollout(self, ind):
        obs = self.env.reset()
        total = torch.zeros(ENVS, device=DEVICE)
        for t in range(HORIZON):
            action = ind.actor(obs)
            obs, reward = self.env.step(action)
            total += reward
            if t % 10 == 0:
                self.replay.add(obs)
        ind.fitness = total.mean().item()

    def refine(self, ind):
        """Gradient through the known one-step model, on replayed states."""
        opt = self.optimizers[ind.uid]
        for _ in range(UPDATES):
            obs = self.replay.sample(256)
            nxt = obs @ self.env.A + ind.actor(obs) @ self.env.B
            loss = nxt.square().mean()
            loss.backward()
            opt.step()
            opt.zero_grad(set_to_none=True)

    @torch.no_grad()
    def mutate(self, parent, generation):
        child = copy.deepcopy(parent.actor)
        for p in child.parameters():
            p.add_(torch.randn_like(p), alpha=0.01)
        return self.spawn(child, generation)

    def retire(self, ind):
        self.population.remove(ind)
        del self.optimizers[ind.uid]

    def evolve(self, generation, n_replace):
        self.population.sort(key=lambda i: i.fitness, reverse=True)
        if self.population[0].fitness > self.champion_fitness:
            self.champion_fitness = self.population[0].fitness
            self.champion = {k: v.cpu().clone() for k, v in self.population[0].actor.state_dict().items()}
        for ind in self.population[-n_replace:]:
            self.retire(ind)
        parents = self.population[:3]
        self.population += [self.mutate(random.choice(parents), generation) for _ in range(n_replace)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=32)
    parser.add_argument("--population", type=int, default=10)
    args = parser.parse_args()
    random.seed(0), torch.manual_seed(0)
    es = EvolutionStrategy(args.population, lr=1e-3)
    for generation in range(1, args.generations + 1):
        for ind in es.population:
            es.rollout(ind)
            es.refine(ind)
        es.evolve(generation, n_replace=2)
        if generation % 8 == 0:
            print(f"gen {generation:3d} best {es.champion_fitness:.2f} replay {es.replay.size}", flush=True)


if __name__ == "__main__":
    main()
