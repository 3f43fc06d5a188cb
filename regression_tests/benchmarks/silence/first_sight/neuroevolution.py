"""Evolve small networks for a control toy (balance a noisy pendulum)."""
import math
import random
import sys
from dataclasses import dataclass, field

import torch

torch.set_num_threads(1)
torch.manual_seed(42)
random.seed(42)

MODE = sys.argv[1]
ISLANDS = 4
PER_ISLAND = 6
ELITE = 2
GENERATIONS = 45
SIZES = (4, 96, 96, 1)


@dataclass(eq=False)
class Genome:
    weights: list
    number: int
    parent: object = None      # for the family tree in the report
    island: int = 0
    fitness: float = -math.inf
    born: int = 0

    def act(self, obs):
        h = obs
        for w in self.weights:
            h = torch.tanh(h @ w)
        return h


@dataclass
class Evolution:
    population: list = field(default_factory=list)
    counter: int = 0
    champions: list = field(default_factory=list)

    def spawn(self, weights, parent, generation, island):
        self.counter += 1
        if MODE == "fixed" and parent is not None:
            parent = parent.number
        return Genome(weights, self.counter, parent, island, born=generation)

    def seed(self):
        for i in range(ISLANDS * PER_ISLAND):
            weights = [torch.randn(a, b) / math.sqrt(a) for a, b in zip(SIZES, SIZES[1:])]
            self.population.append(self.spawn(weights, None, 0, i % ISLANDS))

    def evaluate(self, genome, seed):
        g = torch.Generator().manual_seed(seed)
        theta = 0.2 * torch.randn(16, generator=g)
        omega = torch.zeros(16)
        cost = 0.0
        for t in range(30):
            obs = torch.stack([theta, omega, torch.sin(theta), torch.cos(theta)], dim=1)
            force = genome.act(obs).squeeze(1)
            omega = omega + 0.05 * (9.8 * torch.sin(theta) + 12 * force)
            theta = theta + 0.05 * omega
            cost += float(theta.abs().clamp(max=3).mean())
        genome.fitness = -cost / 30

    def breed(self, generation):
        """Replaces the population of every island by children of its elite."""
        self.population.sort(key=lambda g: g.fitness, reverse=True)
        self.champions.append((self.population[0].number, self.population[0].fitness))
        children = []
        for island in range(ISLANDS):
            elite = [g for g in self.population if g.island == island][:ELITE]
            for i in range(PER_ISLAND):
                mother = elite[i % ELITE]
                weights = [w + 0.08 * torch.randn_like(w) for w in mother.weights]
                children.append(self.spawn(weights, mother, generation, island))
        self.population = children

    def pedigree(self, genome, depth=4):
        names = []
        while isinstance(genome, Genome) and len(names) < depth:
            names.append(str(genome.number))
            genome = genome.parent
        return "<-".join(names)


evo = Evolution()
evo.seed()
for generation in range(1, GENERATIONS + 1):
    for genome in evo.population:
        evo.evaluate(genome, seed=generation % 5)
    evo.breed(generation)
    if generation % 9 == 0:
        number, fitness = evo.champions[-1]
        print(f"generation {generation}: champion {number} fitness {fitness:.3f}")
print("pedigree:", evo.pedigree(evo.population[0]))
