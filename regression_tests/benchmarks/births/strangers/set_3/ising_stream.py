"""Ising model: sweeps at falling temperature, while measurements of block spins are read from a stream."""
import collections
import itertools
import sys

import numpy as np

FIXED = sys.argv[1] == "fixed"
ROUNDS, SIDE, SWEEPS, READ = 14, 384, 20, 6


class Lattice:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.spins = self.rng.choice(np.array([-1, 1], dtype=np.int8), (SIDE, SIDE))
        colours = np.indices((SIDE, SIDE)).sum(0) % 2
        self.masks = [colours == 0, colours == 1]
        self.rates = {}

    def acceptance(self, beta):
        """Acceptance by the energy change, for each temperature (there are four of them)."""
        if beta not in self.rates:
            self.rates[beta] = np.exp(-2.0 * beta * np.arange(-4, 5))
        return self.rates[beta]

    def sweep(self, beta):
        rates = self.acceptance(beta)
        for mask in self.masks:
            around = sum(np.roll(self.spins, shift, axis) for shift in (-1, 1) for axis in (0, 1))
            chance = rates[(self.spins * around).astype(np.int64) + 4]
            flip = mask & (self.rng.random((SIDE, SIDE)) < chance)
            self.spins[flip] *= -1

    def energy(self):
        bonds = self.spins * (np.roll(self.spins, 1, 0) + np.roll(self.spins, 1, 1))
        return -float(bonds.mean())


def block_spins(field, sizes):
    """Renormalise the field step by step: yields the magnetisation of ever other blocks."""
    for size in sizes:
        for offset in range(8):
            moved = np.roll(field, offset, axis=0)
            blocks = moved.reshape(SIDE // size, size, SIDE // size, size).sum((1, 3))
            yield size, float(np.abs(blocks).mean()) / size ** 2


class Measurement:
    def __init__(self):
        self.stream = iter(())
        self.by_size = collections.defaultdict(lambda: collections.deque(maxlen=4))

    def feed(self, lattice):
        field = lattice.spins.astype(np.float32)
        fresh = block_spins(field, (2, 4, 8, 16, 32))
        if FIXED:
            self.stream = fresh
        else:
            self.stream = itertools.chain(self.stream, fresh)

    def read(self):
        for size, magnetisation in itertools.islice(self.stream, READ):
            self.by_size[size].append(magnetisation)

    def mean(self):
        values = [value for window in self.by_size.values() for value in window]
        return sum(values) / len(values)


def correlation(spins):
    """Two-point function by the Fourier transform, averaged over the directions."""
    spectrum = np.abs(np.fft.rfft2(spins)) ** 2
    twopoint = np.fft.irfft2(spectrum, s=spins.shape) / spins.size
    return twopoint[0, : SIDE // 2] + twopoint[: SIDE // 2, 0]


def main():
    lattice, measurement = Lattice(seed=31), Measurement()
    length = collections.deque(maxlen=3)
    for number in range(ROUNDS):
        beta = (0.38, 0.42, 0.44, 0.46)[number % 4]
        for _ in range(SWEEPS):
            lattice.sweep(beta)
        length.append(correlation(lattice.spins))
        measurement.feed(lattice)
        measurement.read()
    energy, reach = lattice.energy(), int((np.mean(length, axis=0) > 0.1).sum())
    print(f"energy {energy:.3f}, block spins {measurement.mean():.3f}, reach {reach}")


main()
