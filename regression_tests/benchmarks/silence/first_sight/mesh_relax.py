"""Relax adaptive quad meshes; latency matters, so the cyclic collector is off while meshes are solved."""
import gc
import math
import random
import sys
import weakref

MODE = sys.argv[1]
FRAMES = 70
DEPTH = 5


class Cell:
    live = 0

    def __init__(self, parent, x, y, size):
        self.parent = weakref.ref(parent) if parent is not None and MODE == "fixed" else parent
        self.x, self.y, self.size = x, y, size
        self.value = 0.0
        self.children = []
        Cell.live += 1

    def __del__(self):
        Cell.live -= 1

    def up(self):
        return self.parent() if isinstance(self.parent, weakref.ref) else self.parent

    def split(self):
        half = self.size / 2
        self.children = [Cell(self, self.x + dx * half, self.y + dy * half, half)
                         for dx in (0, 1) for dy in (0, 1)]

    def leaves(self):
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


class Source:
    def __init__(self, rng):
        self.x, self.y, self.power = rng.random(), rng.random(), rng.uniform(1, 4)

    def at(self, x, y):
        return self.power * math.exp(-20 * ((x - self.x) ** 2 + (y - self.y) ** 2))


def build(sources):
    root = Cell(None, 0.0, 0.0, 1.0)
    level = [root]
    for depth in range(DEPTH):
        nxt = []
        for cell in level:
            strength = sum(s.at(cell.x + cell.size / 2, cell.y + cell.size / 2) for s in sources)
            if depth < 3 or strength > 0.8:
                cell.split()
                nxt.extend(cell.children)
        level = nxt
    return root


def relax(root, sources, sweeps=34):
    for _ in range(sweeps):
        for cell in root.leaves():
            around = cell.up().children
            mean = sum(c.value for c in around) / len(around)
            source = sum(s.at(cell.x, cell.y) for s in sources)
            cell.value += 0.5 * (0.6 * mean + 0.4 * source - cell.value)
    return sum(c.value * c.size ** 2 for c in root.leaves())


def solve_frame(number):
    rng = random.Random(number)
    sources = [Source(rng) for _ in range(4)]
    root = build(sources)
    return relax(root, sources)


def main():
    gc.collect()
    gc.disable()          # no pauses in the frame loop
    energies = []
    for number in range(FRAMES):
        energies.append(solve_frame(number))
        if number % 12 == 0:
            print(f"frame {number}: energy {energies[-1]:.4f}", flush=True)
    print(f"mean energy {sum(energies) / FRAMES:.4f}")


if __name__ == "__main__":
    main()
