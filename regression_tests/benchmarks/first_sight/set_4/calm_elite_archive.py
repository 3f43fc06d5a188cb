"""Quality diversity: keeps the best controller for each kind of behaviour it has seen."""

# /// truth
# about = """an archive of at most 256 cells that fills quickly at first and ever more slowly later,
# while better controllers replace worse ones all the time, and a list of the ten best"""
# ///
import heapq
import itertools
import os
import sys

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 350
BATCH = 24
SIDE = 16


class Controller:
    """A small recurrent policy with what is known about it."""

    def __init__(self, weights: np.ndarray, fitness: float, cell: tuple[int, int]) -> None:
        self.weights = weights
        self.fitness = fitness
        self.cell = cell


class Archive:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.cells: dict[tuple[int, int], Controller] = {}
        self.best: list[tuple[float, int, Controller]] = []
        self.ticket = itertools.count()

    def parents(self, count: int) -> list[Controller]:
        elites = list(self.cells.values())
        return [elites[index] for index in self.rng.integers(0, len(elites), count)]

    def offer(self, controller: Controller) -> None:
        there = self.cells.get(controller.cell)
        if there is None or controller.fitness > there.fitness:
            self.cells[controller.cell] = controller
        entry = (controller.fitness, next(self.ticket), controller)
        if len(self.best) < 10:
            heapq.heappush(self.best, entry)
        else:
            heapq.heappushpop(self.best, entry)


def evaluate(weights: np.ndarray) -> tuple[float, tuple[int, int]]:
    """Drives a point with the policy; where it ends up is its behaviour."""
    recurrent, inward = weights[:, :24], weights[:, 24:]
    hidden = np.zeros(24)
    place, velocity = np.zeros(2), np.zeros(2)
    effort = 0.0
    for tick in range(40):
        seen = np.concatenate((place, velocity, (np.sin(0.2 * tick), 1.0)))
        hidden = np.tanh(recurrent @ hidden + inward @ seen)
        velocity = 0.9 * velocity + 0.05 * hidden[:2]
        place = place + velocity
        effort += float(hidden[:2] @ hidden[:2])
    column, row = np.clip((np.tanh(0.4 * place) + 1.0) * SIDE / 2, 0, SIDE - 1).astype(int)
    return -effort, (int(column), int(row))


def main() -> None:
    rng = np.random.default_rng(47)
    archive = Archive(rng)
    for _ in range(4):
        weights = rng.normal(0.0, 0.05, (24, 30))
        archive.offer(Controller(weights, *evaluate(weights)))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("vary"):
                offspring = [
                    parent.weights + rng.normal(0.0, 0.04, parent.weights.shape)
                    for parent in archive.parents(BATCH)
                ]
            with guard.phase("evaluate"):
                results = [(weights, *evaluate(weights)) for weights in offspring]
            with guard.phase("archive"):
                for weights, fitness, cell in results:
                    archive.offer(Controller(weights, fitness, cell))


if __name__ == "__main__":
    main()
