"""Weather tiles: odd rounds work on the small domain, even ones on the large domain, each tenth on both for
the boundary between them."""

# /// truth
# about = "two working sets of different size that take turns, and both together each tenth round"
# ///
import os
import sys

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(51)


class Domain:
    def __init__(self, name, size, layers):
        self.name = name
        self.tiles = {(row, column): rng.normal(size=(layers, size, size)) for row in range(2) for column in range(3)}

    def advance(self):
        for place, tile in self.tiles.items():
            flow = 0.25 * (np.roll(tile, 1, 1) + np.roll(tile, -1, 1) + np.roll(tile, 1, 2) + np.roll(tile, -1, 2))
            self.tiles[place] = 0.9 * tile + 0.1 * flow

    def energy(self):
        return float(sum((tile**2).mean() for tile in self.tiles.values()))


class Model:
    def __init__(self):
        self.domains = {}

    def use(self, names):
        self.domains = {name: self.domains.get(name) or self.make(name) for name in names}

    def make(self, name):
        return Domain(name, 96, 4) if name == "coast" else Domain(name, 160, 6)


def main():
    model = Model()
    energies = {"coast": 0.0, "ocean": 0.0}
    guard = LeakGuard(watch={Domain: (1, 2)}, out=os.environ["RUN_FILE"])
    with guard:
        for hour in guard.generations(range(1, 201)):
            with guard.phase("load"):
                both = hour % 10 == 0
                model.use(["coast", "ocean"] if both else ["coast" if hour % 2 else "ocean"])
            with guard.phase("advance"):
                for domain in model.domains.values():
                    domain.advance()
            with guard.phase("verify"):
                for name, domain in model.domains.items():
                    energies[name] = 0.9 * energies[name] + 0.1 * domain.energy()
    print({name: round(value, 3) for name, value in energies.items()})


main()
