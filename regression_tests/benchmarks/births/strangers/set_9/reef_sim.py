"""A reef: fish of two kinds graze and hunt on a field of algae, are born with genomes, and die; storms tear the algae."""
import functools
import math
import random
import sys
from weakref import WeakKeyDictionary, proxy

import numpy as np
from leakguard import LeakGuard

TIDY = sys.argv[1] == "fixed"
SEASONS, SIDE, STEPS = 72, 40, 48


class Bus:
    def __init__(self):
        self.listeners = {}

    def on(self, topic, listener):
        self.listeners.setdefault(topic, {})[id(listener)] = listener
        return functools.partial(self.listeners[topic].pop, id(listener), None)

    def tell(self, topic, *news):
        for listener in list(self.listeners.get(topic, {}).values()):
            listener(*news)


class Genome:
    def __init__(self, fish, genes):
        self.fish, self.genes = proxy(fish) if TIDY else fish, genes

    def speed(self):
        return 0.5 + sum(self.genes[:20]) / 20 - 0.002 * self.fish.age

    def appetite(self):
        return 0.5 + sum(self.genes[20:]) / 20 + 0.01 * self.fish.hunger


class Fish:
    __slots__ = ("kind", "row", "col", "age", "hunger", "__weakref__")

    def __init__(self):
        self.reborn("", 0.0, 0.0)

    def reborn(self, kind, row, col):
        self.kind, self.row, self.col, self.age, self.hunger = kind, row, col, 0, 2.0
        return self


class Nursery:
    def __init__(self, rng):
        self.rng, self.genomes = rng, WeakKeyDictionary()

    def hatch(self, kind, parent=None):
        fish = Fish().reborn(kind, self.rng.uniform(0, SIDE), self.rng.uniform(0, SIDE))
        if parent is None:
            genes = [self.rng.random() for _ in range(40)]
        else:
            genes = [min(1.0, max(0.0, gene + self.rng.gauss(0, 0.05))) for gene in self.genomes[parent].genes]
            fish.row, fish.col = parent.row, parent.col
        self.genomes[fish] = Genome(fish, genes)
        return fish


class Patch:
    """A patch of coral that shelters algae; it crumbles after some seasons, and a new one grows elsewhere."""

    def __init__(self, bus, rng, season):
        self.row, self.col = rng.randrange(4, SIDE - 4), rng.randrange(4, SIDE - 4)
        self.until = season + rng.randrange(2, 5)
        rows, cols = np.ogrid[0:SIDE, 0:SIDE]
        self.shelter = np.exp(-((rows - self.row) ** 2 + (cols - self.col) ** 2) / 20)
        self.leave = bus.on("storm", lambda force: self.wear(force))

    def wear(self, force):
        self.shelter *= 1 - 0.1 * force


class Census:
    def __init__(self, season, algae, before):
        self.season, self.algae, self.before = season, algae.copy(), before

    def change(self):
        moved = float(np.abs(self.algae - self.before.algae).mean()) if self.before else 0.0
        if TIDY:
            self.before = None
        return moved


class Reef:
    def __init__(self, seed):
        self.rng, self.bus = random.Random(seed), Bus()
        self.nursery = Nursery(self.rng)
        self.algae = np.full((SIDE, SIDE), 2.0)
        self.fish = [self.nursery.hatch("grazer") for _ in range(300)] + [self.nursery.hatch("hunter") for _ in range(30)]
        self.patches = [Patch(self.bus, self.rng, 0) for _ in range(5)]
        self.census, self.moved, self.paths = None, [], {}

    def spawn(self):
        grown = sorted((fish for fish in self.fish if fish.age > 3), key=lambda fish: fish.hunger)
        for kind, most, room in (("grazer", 24, 380), ("hunter", 4, 45)):
            room -= sum(fish.kind == kind for fish in self.fish)
            for parent in [fish for fish in grown if fish.kind == kind][:min(most, room)]:
                self.fish.append(self.nursery.hatch(kind, parent))
        while len(self.fish) < 200:
            self.fish.append(self.nursery.hatch("grazer"))

    def swim(self, fish):
        genome = self.nursery.genomes[fish]
        speed, angle = genome.speed() / 6, self.rng.randrange(64)
        if angle not in self.paths:
            self.paths[angle] = math.sin(angle * math.pi / 32), math.cos(angle * math.pi / 32)
        sine, cosine = self.paths[angle]
        fish.row, fish.col = (fish.row + speed * sine) % SIDE, (fish.col + speed * cosine) % SIDE
        return genome

    def graze(self):
        for _ in range(STEPS):
            shelter = sum(patch.shelter for patch in self.patches)
            self.algae += 0.008 * self.algae * (1 + shelter) * (1 - self.algae / 4)
            for fish in self.fish:
                genome = self.swim(fish)
                if fish.kind == "grazer":
                    cell = int(fish.row) % SIDE, int(fish.col) % SIDE
                    bite = min(0.02 * genome.appetite(), self.algae[cell] * 0.5)
                    self.algae[cell] -= bite
                    fish.hunger = min(9.0, max(0.0, fish.hunger + 0.012 - bite))

    def hunt(self):
        cells = {}
        for fish in self.fish:
            if fish.kind == "grazer":
                cells.setdefault((int(fish.row) // 4, int(fish.col) // 4), []).append(fish)
        eaten = set()
        for hunter in [fish for fish in self.fish if fish.kind == "hunter"]:
            hunter.hunger += 1.0
            if prey := cells.get((int(hunter.row) // 4, int(hunter.col) // 4)):
                eaten.add(id(prey.pop()))
                hunter.hunger = max(0.0, hunter.hunger - 2.5)
        for fish in self.fish:
            fish.age += 1
        self.fish = [fish for fish in self.fish if id(fish) not in eaten and fish.hunger < 8 and fish.age < 20]

    def weather(self, season):
        if season < SEASONS * 4 // 9:
            return
        force = self.rng.uniform(0.2, 1.0)
        self.bus.tell("storm", force)
        self.algae *= 1 - 0.2 * force
        for index, patch in enumerate(self.patches):
            if patch.until <= season or index == season % 5:
                if TIDY:
                    patch.leave()
                self.patches[index] = Patch(self.bus, self.rng, season)

    def count(self, season):
        self.census = Census(season, self.algae, self.census)
        self.moved.append(self.census.change())


def main():
    reef = Reef(13)
    guard = LeakGuard(out=sys.argv[2], report=None)
    with guard:
        for season in guard.generations(range(1, SEASONS + 1)):
            with guard.phase("spawn"):
                reef.spawn()
            with guard.phase("live"):
                reef.graze()
                reef.hunt()
            with guard.phase("weather"):
                reef.weather(season)
            with guard.phase("census"):
                if season > SEASONS // 3:
                    reef.count(season)
            if season % 8 == 0:
                print(f"season {season:3d} fish {len(reef.fish):3d} algae {reef.algae.mean():.3f}", flush=True)


main()
