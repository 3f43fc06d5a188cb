"""Short lives of many small neighbourhood graphs, with the collector switched off for speed."""
# /// truth
# about = "a simulation that switches the garbage collector off and drops worlds whose nodes point at each other"
# [[leak]]
# type = ["Cell", "Colony"]
# kind = ["cycles", "instances"]
# line = ["self.cells = [Cell(self, i, rng.random()) for i in range(size * size)]", "world = Colony(14, rng)", "cell.neighbours = [self.cells[j] for j in self.around(i)]"]
# ///
import gc
import random
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
ROUNDS = 450


class Cell:
    def __init__(self, world, index, food):
        self.world = world
        self.index = index
        self.food = food
        self.scent = 0.0
        self.neighbours = []


class Colony:
    def __init__(self, size, rng):
        self.size = size
        self.cells = [Cell(self, i, rng.random()) for i in range(size * size)]
        for i, cell in enumerate(self.cells):
            cell.neighbours = [self.cells[j] for j in self.around(i)]
        self.ants = [rng.choice(self.cells) for _ in range(30)]

    def around(self, i):
        x, y = divmod(i, self.size)
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            yield (x + dx) % self.size * self.size + (y + dy) % self.size

    def step(self, rng):
        eaten = 0.0
        for k, cell in enumerate(self.ants):
            target = max(cell.neighbours, key=lambda c: c.food - 0.3 * c.scent + 0.2 * rng.random())
            bite = min(target.food, 0.1)
            target.food -= bite
            target.scent += 1.0
            eaten += bite
            self.ants[k] = target
        for cell in self.cells:
            cell.scent *= 0.9
        return eaten

    def dissolve(self):
        for cell in self.cells:
            cell.neighbours.clear()
            cell.world = None


def live(rng):
    world = Colony(14, rng)
    eaten = [world.step(rng) for _ in range(340)]
    if MODE != "leak":
        world.dissolve()
    return sum(eaten)


def run():
    gc.disable()
    rng = random.Random(15)
    best = total = 0.0
    n = 0
    while True:
        score = live(rng)
        best = max(best, score)
        total += score
        n += 1
        if n % 50 == 0:
            print(f"colony {n}: mean {total / n:.3f} best {best:.3f}", flush=True)
        if n == ROUNDS:
            break


run()
