"""A genetic search over curves, with an archive of candidates ordered by promise."""
import heapq
import itertools
import os
import sys
from collections import deque

import numpy as np

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
GENERATIONS = 40
GENES = 2000


class Candidate:
    def __init__(self, genes, parent_score):
        self.genes = genes
        self.parent_score = parent_score
        self.score = None


class Archive:
    """Promising candidates for a restart. The least promising one is on top."""

    def __init__(self, limit):
        self.limit = limit
        self.heap = []
        self.ticket = itertools.count()

    def offer(self, candidate):
        entry = (candidate.score, next(self.ticket), candidate)
        if MODE == "leak" or len(self.heap) < self.limit:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)

    def best(self):
        return max(self.heap)[2]


class Landscape:
    """Scores a curve. Smooth targets are made once for each frequency."""

    def __init__(self):
        self.targets = {}
        self.x = np.linspace(0.0, 6.3, GENES)

    def target(self, frequency):
        if frequency not in self.targets:
            self.targets[frequency] = np.sin(self.x * frequency)
        return self.targets[frequency]

    def score(self, genes, generation):
        frequency = 1 + generation % 6
        total = 0.0
        for shift in range(0, 60, 2):
            total -= float(np.abs(np.roll(genes, shift) - self.target(frequency)).mean())
        return total / 30.0


def mutate(parent, rng):
    genes = parent.genes + rng.normal(0.0, 0.05, GENES)
    return Candidate(genes, parent.score)


class Search:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.landscape = Landscape()
        self.archive = Archive(limit=10)
        self.trend = deque(maxlen=8)
        self.population = [Candidate(self.rng.normal(size=GENES), 0.0) for _ in range(12)]
        for candidate in self.population:
            candidate.score = self.landscape.score(candidate.genes, 0)

    def breed(self):
        parents = self.rng.choice(len(self.population), size=30)
        return [mutate(self.population[i], self.rng) for i in parents]

    def evaluate(self, children, generation):
        for child in children:
            child.score = self.landscape.score(child.genes, generation)

    def select(self, children):
        ranked = sorted(children, key=lambda c: c.score, reverse=True)
        self.population = ranked[:12]
        for candidate in ranked[12:14]:
            self.archive.offer(candidate)
        self.trend.append(ranked[0].score)


def main():
    search = Search(21)
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for generation in guard.generations(range(GENERATIONS)):
            with guard.phase("breed"):
                children = search.breed()
            with guard.phase("evaluate"):
                search.evaluate(children, generation)
            with guard.phase("select"):
                search.select(children)
    print(f"best {search.trend[-1]:.4f}, archive best {search.archive.best().score:.4f}")


if __name__ == "__main__":
    main()
