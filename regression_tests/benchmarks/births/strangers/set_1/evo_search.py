"""Evolution strategy on a rugged landscape."""
import logging
import sys
from collections import deque

import numpy as np

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
rng = np.random.default_rng(13)
logger = logging.getLogger("evo")
logger.setLevel(logging.INFO)
logger.propagate = False


class Individual:
    def __init__(self, genome, parent=None):
        self.genome = genome
        self.parent = None if FIXED else parent
        self.fitness = None

    def child(self):
        return Individual(self.genome + 0.05 * rng.standard_normal(self.genome.shape), parent=self)


class Landscape:
    def __init__(self, size):
        self.target = rng.standard_normal(size)

    def __call__(self, genome):
        distance = genome - self.target
        return -float(np.mean(distance ** 2 - 0.3 * np.cos(6 * distance)))


class Fame:
    """Five places; each remembers the traces of its holder."""

    def __init__(self):
        self.places = {rank: {"score": -1e9, "traces": []} for rank in range(5)}

    def update(self, population):
        for rank, individual in enumerate(population[:5]):
            place = self.places[rank]
            place["score"] = max(place["score"], individual.fitness)
            place["traces"].append(individual.genome[:400].astype(np.float32))
            if FIXED:
                del place["traces"][:-4]


class Archive:
    def __init__(self):
        self.cells = {}

    def insert(self, number, population):
        for individual in population:
            cell = int(individual.genome[0] * 4) % 8
            entry = {"number": number, "genes": individual.genome[::8].tolist(), "fitness": individual.fitness}
            bucket = self.cells.setdefault(cell, [])
            bucket.append(entry)
            if FIXED and len(bucket) > 6:
                bucket.pop(0)


class TailHandler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.tail = deque(maxlen=30)

    def emit(self, record):
        self.tail.append(self.format(record))


def attach_log():
    handler = TailHandler()
    logger.addHandler(handler)
    return handler


class Evolution:
    def __init__(self):
        self.landscape = Landscape(6000)
        self.population = [Individual(rng.standard_normal(6000)) for _ in range(6)]
        self.fame, self.archive = Fame(), Archive()

    def breed(self):
        children = [parent.child() for parent in self.population for _ in range(16)]
        for child in children:
            child.fitness = self.landscape(child.genome)
        self.population = sorted(children, key=lambda one: -one.fitness)[:6]

    def record(self, number):
        self.fame.update(self.population)
        self.archive.insert(number, self.population[:2])

    def log(self, number):
        handler = attach_log()
        for individual in self.population:
            logger.info("round %d fitness %.5f", number, individual.fitness)
        if FIXED:
            logger.removeHandler(handler)
            handler.close()
        return len(handler.tail)


evolution = Evolution()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(150)):
        with guard.phase("breed"):
            evolution.breed()
        with guard.phase("record"):
            evolution.record(number)
        with guard.phase("log"):
            evolution.log(number)
print("best", round(evolution.population[0].fitness, 4))
