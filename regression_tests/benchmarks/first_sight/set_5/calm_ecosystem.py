"""Agent-based grazing model: animals are born, move, eat and die on a meadow."""
import math
import random

# /// truth
# about = "a population that grows to the carrying capacity of its meadow, with dead animals used again"
# ///


class Animal:
    def __init__(self):
        self.genome = [0.0] * 12

    def born(self, x, y, energy, genome):
        self.x, self.y = x, y
        self.energy = energy
        self.age = 0
        self.genome[:] = genome
        return self


class World:
    def __init__(self, side=44, seed=29):
        self.rng = random.Random(seed)
        self.side = side
        self.grass = [[0.6] * side for _ in range(side)]
        self.stable = []
        self.alive = []
        self.tick = 0
        for _ in range(40):
            self.spawn(self.rng.random() * side, self.rng.random() * side, 3.0, [self.rng.gauss(0, 1) for _ in range(12)])

    def spawn(self, x, y, energy, genome):
        animal = self.stable.pop() if self.stable else Animal()
        self.alive.append(animal.born(x, y, energy, genome))

    def grow(self):
        for row in self.grass:
            for i, g in enumerate(row):
                row[i] = g + 0.06 * g * (1.0 - g) + 0.002

    def move(self, a):
        rng, side, g = self.rng, self.side, a.genome
        best, where = -1.0, (0.0, 0.0)
        for k in range(6):
            angle = rng.random() * 2 * math.pi + 0.1 * g[k]
            reach = 1.0 + 0.5 * math.tanh(g[k + 6])
            x, y = (a.x + reach * math.cos(angle)) % side, (a.y + reach * math.sin(angle)) % side
            v = self.grass[int(y) % side][int(x) % side]
            if v > best:
                best, where = v, (x, y)
        a.x, a.y = where
        row, i = self.grass[int(a.y) % side], int(a.x) % side
        bite = min(0.3, row[i])
        row[i] -= bite * 0.9
        a.energy += 2.2 * bite - 0.16
        a.age += 1

    def live(self):
        for a in list(self.alive):
            self.move(a)
            if a.energy > 6.0:
                a.energy /= 2
                self.spawn(a.x, a.y, a.energy, [v + self.rng.gauss(0, 0.05) for v in a.genome])
        survivors = []
        for a in self.alive:
            if a.energy > 0 and a.age < 300:
                survivors.append(a)
            else:
                self.stable.append(a)
        self.alive = survivors

    def run(self, ticks):
        while self.tick < ticks:
            self.grow()
            self.live()
            self.tick += 1
            if self.tick % 200 == 0:
                total = sum(map(sum, self.grass))
                print("tick %5d  animals %4d  resting %4d  grass %.0f" % (self.tick, len(self.alive), len(self.stable), total))


World().run(1600)
