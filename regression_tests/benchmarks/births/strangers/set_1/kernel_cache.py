"""Convolves signals with smoothing kernels of scheduled widths."""
import functools
import math
import os
import sys
from collections import deque

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402

FIXED = sys.argv[1] == "fixed"
rng = np.random.default_rng(55)
PLATEAU = 60


@functools.lru_cache(maxsize=16 if FIXED else None)
def kernel_matrix(width, side=130):
    grid = np.arange(side)
    matrix = np.exp(-((grid[:, None] - grid) / width) ** 2)
    return matrix / matrix.sum(1, keepdims=True)


class Smoother:
    def __init__(self):
        self.recent = deque(maxlen=30)
        self.energy = []

    def width(self, number):
        if number < PLATEAU:
            return 2.0 + number % 8
        return 2.0 + 8 * math.exp(-(number - PLATEAU) / 100)

    def turn(self, number):
        matrix = kernel_matrix(self.width(number))
        signals = rng.standard_normal((130, 300))
        for _ in range(60):
            signals = matrix @ signals
        self.recent.append(signals[:, :20].copy())
        self.energy.append(float((signals ** 2).mean()))


smoother = Smoother()
for number in range(200):
    smoother.turn(number)
print("energy", round(smoother.energy[-1], 6), "kept", len(smoother.recent))
