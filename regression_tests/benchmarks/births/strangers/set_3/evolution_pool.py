"""Evolution strategy for a cart-pole controller; a process pool reads the population from shared memory."""
import collections
import multiprocessing
import sys
from multiprocessing import resource_tracker, shared_memory

import numpy as np

FIXED = sys.argv[1] == "fixed"
GENERATIONS, POPULATION, HIDDEN = 45, 60, 100
GENES = 4 * HIDDEN + HIDDEN + HIDDEN + 1


def controller(genes, states):
    hidden = np.tanh(states @ genes[:4 * HIDDEN].reshape(4, HIDDEN) + genes[4 * HIDDEN:5 * HIDDEN])
    return np.tanh(hidden @ genes[5 * HIDDEN:6 * HIDDEN] + genes[-1])


def cart_pole(genes, starts):
    """Steps until the pole falls, over several starts at once."""
    state = starts.copy()
    alive = np.ones(len(state), dtype=bool)
    steps = 0.0
    for _ in range(30):
        force = 10.0 * controller(genes, state)
        position, speed, angle, spin = state.T
        push = (force + 0.05 * spin ** 2 * np.sin(angle)) / 1.1
        turn = (9.8 * np.sin(angle) - np.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        state = np.stack([position + 0.02 * speed, speed + 0.02 * push, angle + 0.02 * spin,
                          spin + 0.02 * turn], axis=1)
        alive &= (np.abs(state[:, 2]) < 0.3) & (np.abs(state[:, 0]) < 2.4)
        steps += alive.mean()
    return steps


def evaluate(task):
    name, first, last, seed = task
    block = shared_memory.SharedMemory(name=name)
    try:
        population = np.ndarray((POPULATION, GENES), buffer=block.buf)
        starts = np.random.default_rng(seed).uniform(-0.15, 0.15, (10, 4))
        fitness = [cart_pole(population[i].copy(), starts) for i in range(first, last)]
        del population
    finally:
        block.close()
    return fitness


class Arena:
    """Lays a population into shared memory and takes it away when it was evaluated."""

    def __init__(self):
        self.segments = {}

    def lay_out(self, generation, population):
        segment = shared_memory.SharedMemory(create=True, size=population.nbytes)
        self.segments[generation] = segment
        np.ndarray(population.shape, buffer=segment.buf)[:] = population
        return segment.name

    def take_away(self, generation):
        self.segments[generation].unlink()
        if FIXED:
            self.segments.pop(generation).close()


class Strategy:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.mean = self.rng.normal(0, 0.1, GENES)
        self.sigma = 0.2
        self.elite = collections.deque(maxlen=8)

    def ask(self):
        self.noise = self.rng.normal(size=(POPULATION, GENES))
        return self.mean + self.sigma * self.noise

    def tell(self, fitness):
        order = np.argsort(fitness)[::-1][: POPULATION // 4]
        self.mean = self.mean + 0.6 * self.sigma * self.noise[order].mean(0)
        self.elite.append(float(fitness[order[0]]))
        self.sigma = max(0.05, 0.995 * self.sigma)


def main():
    resource_tracker.ensure_running()
    arena, strategy = Arena(), Strategy(seed=23)
    half = POPULATION // 2
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for generation in range(GENERATIONS):
            name = arena.lay_out(generation, strategy.ask())
            tasks = [(name, 0, half, generation), (name, half, POPULATION, generation)]
            fitness = np.concatenate(pool.map(evaluate, tasks))
            arena.take_away(generation)
            strategy.tell(fitness)
    print(f"best of the last generations {max(strategy.elite):.1f} steps")


main()
