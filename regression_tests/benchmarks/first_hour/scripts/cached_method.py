"""functools.lru_cache on a method: the cache belongs to the class and keeps every environment."""
import functools
import sys
import numpy as np

CLEAN = "clean" in sys.argv


class GridWorld:
    def __init__(self, size, seed):
        self.map = np.random.default_rng(seed).random((size, size))
        self.size = size

    def _distance(self, cell):
        return float(np.abs(self.map - cell).sum())

    if CLEAN:
        distance = _distance
    else:
        @functools.lru_cache(maxsize=None)
        def distance(self, cell):
            return self._distance(cell)

    def rollout(self):
        return sum(self.distance(step % 7) for step in range(400))


def train_generation(generation):
    return max(GridWorld(200, 100 * generation + k).rollout() for k in range(4))


def main():
    for generation in range(12):
        print(generation, train_generation(generation))


if __name__ == "__main__":
    main()
