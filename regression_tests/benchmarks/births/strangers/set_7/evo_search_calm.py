"""Evolutionary search for a controller; numpy only."""
import logging
import logging.handlers
from collections import deque

import numpy as np

rng = np.random.default_rng(11)
GENERATIONS = 150
POPULATION = 24
GENES = 4000
TARGET = np.sin(np.linspace(0, 40, GENES))
failures = deque(maxlen=20)


class Individual:
    def __init__(self, genome, parent_fitness=None):
        self.genome = genome
        self.parent_fitness = parent_fitness
        self.fitness = None

    def mutate(self, scale):
        return Individual(self.genome + rng.normal(0, scale, GENES), parent_fitness=self.fitness)

    def improvement(self):
        return self.fitness - self.parent_fitness if self.parent_fitness is not None else 0.0


class HallOfFame:
    def __init__(self, size):
        self.size = size
        self.entries = []

    def offer(self, individual):
        self.entries.append((individual.fitness, individual.genome.copy()))
        self.entries.sort(key=lambda entry: -entry[0])
        del self.entries[self.size:]


class NoveltyArchive:
    def __init__(self, size):
        self.descriptors = deque(maxlen=size)

    def novelty(self, genome):
        descriptor = genome.reshape(200, -1).mean(1)
        near = [np.abs(descriptor - other).mean() for other in self.descriptors]
        self.descriptors.append(descriptor)
        return min(near) if near else 0.0


def generation_logger():
    log = logging.getLogger("evo.generation")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(logging.handlers.MemoryHandler(500, logging.CRITICAL, logging.NullHandler()))
    return log


def evaluate(population, archive, log):
    for place, individual in enumerate(population):
        spectrum = np.abs(np.fft.rfft(individual.genome))
        error = np.mean((individual.genome - TARGET) ** 2) + 1e-6 * spectrum.mean()
        for _ in range(6):
            error += 1e-9 * np.sort(individual.genome)[-20:].sum()
        individual.fitness = -error + 0.001 * archive.novelty(individual.genome)
        log.debug("candidate %d fitness %.5f gain %.5f", place, individual.fitness, individual.improvement())


def simulate(genome, gain):
    state = np.outer(genome[:100], genome[:100]) / 50.0
    for _ in range(20):
        state = gain * np.tanh(state)
        if np.abs(state).mean() > 1e-9 and gain > 1.3:
            raise FloatingPointError(f"controller diverges at gain {gain:.2f}")
    return float(np.abs(state).mean())


def stress_test(genome, number):
    try:
        return simulate(genome, 1.0 + 0.01 * number)
    except FloatingPointError as problem:
        failures.append((number, str(problem)))
        return float("inf")


def breed(population, scale):
    ranked = sorted(population, key=lambda individual: -individual.fitness)
    parents = ranked[:6]
    children = [parents[int(rng.integers(6))].mutate(scale) for _ in range(POPULATION - 2)]
    return ranked[:2] + children


def main():
    archive = NoveltyArchive(150)
    fame = HallOfFame(10)
    log = generation_logger()
    population = [Individual(rng.normal(0, 1, GENES)) for _ in range(POPULATION)]
    for number in range(1, GENERATIONS + 1):
        evaluate(population, archive, log)
        best = max(population, key=lambda individual: individual.fitness)
        fame.offer(best)
        stress = stress_test(best.genome, number)
        population = breed(population, 0.3 / number ** 0.5)
        if number % 50 == 0:
            print(f"generation {number} best {best.fitness:.4f} stress {stress:.3f}")
    print("failures", len(failures), "fame", len(fame.entries))


if __name__ == "__main__":
    main()
