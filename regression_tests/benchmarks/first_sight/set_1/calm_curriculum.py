"""Path finding on small and large mazes, which take turns."""
# /// truth
# about = "a curriculum that changes between small and large working sets every 15 generations"
# ///
import heapq
import os
import random
import sys

from leakguard import LeakGuard, expect_freed

assert sys.argv[1] == "clean"
GENERATIONS = 150


class Cell:
    __slots__ = ("place", "cost", "distance")

    def __init__(self, place, cost):
        self.place = place
        self.cost = cost
        self.distance = float("inf")


class Maze:
    def __init__(self, size, chance):
        self.size = size
        self.cells = {(r, c): Cell((r, c), chance.randint(1, 9)) for r in range(size) for c in range(size)}

    def solve(self, budget=6000):
        for cell in self.cells.values():
            cell.distance = float("inf")
        start = self.cells[0, 0]
        start.distance = 0
        frontier = [(0, start.place)]
        while frontier and budget:
            budget -= 1
            distance, (r, c) = heapq.heappop(frontier)
            for place in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
                cell = self.cells.get(place)
                if cell and distance + cell.cost < cell.distance:
                    cell.distance = distance + cell.cost
                    heapq.heappush(frontier, (cell.distance, place))
        return sum(1 for cell in self.cells.values() if cell.distance < float("inf"))


class Curriculum:
    def __init__(self):
        self.chance = random.Random(23)
        self.mazes = []

    def turn(self, generation):
        large = (generation // 15) % 2 == 1
        size, count = (70, 8) if large else (35, 4)
        old, self.mazes = self.mazes, [Maze(size, self.chance) for _ in range(count)]
        if old:
            expect_freed(old[0], "replaced by the next stage")


curriculum = Curriculum()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for generation in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("curriculum"):
            if generation == 1 or generation % 15 == 0:
                curriculum.turn(generation)
        with guard.phase("solve"):
            for maze in curriculum.mazes[:4]:
                maze.solve()
