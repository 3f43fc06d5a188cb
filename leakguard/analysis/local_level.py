"""Shapes fitted to a series whose noise is white noise plus a random walk.

The local level model (Harvey 1989, chapter 2): a round's value is a shape, plus white noise, plus a
level that wanders. It is what tells drift from diffusion: a trend must be steadier than what a
wandering level would do by itself, and how much the level wanders is read from the same series.

With an unknown starting level the noise covariance is diagonal in the cosine basis (DCT-II): the
random walk's precision is the Laplacian of a path, whose eigenvectors are these cosines. So every
fit is a weighted sum over n - 1 coefficients, exact, and what depends on n alone is cached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import mul

# Variance of the level's step over that of the white noise; the last is a pure random walk.
WANDERING = (0.0, 0.0004, 0.002, 0.01, 0.05, 0.25, 1.5, math.inf)
# The smallest part of a series' variance that is taken for noise, where it seems to have none.
_LEAST_NOISE = 1e-9

Coefficients = list[float]


class Basis:
    """The cosine basis for ``n`` rounds, and shapes transformed into it."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.rows = [
            [math.sqrt(2.0 / n) * math.cos(math.pi * k * (t + 0.5) / n) for t in range(n)]
            for k in range(1, n)
        ]
        stiffness = [4.0 * math.sin(0.5 * math.pi * k / n) ** 2 for k in range(1, n)]
        self.weights = [[_weight(ratio, mu) for mu in stiffness] for ratio in WANDERING]
        self.log_variance = [-math.fsum(map(math.log, w)) for w in self.weights]
        self._columns: dict[Shape, Coefficients] = {}
        self._weighted: dict[tuple[int, Shape], Coefficients] = {}
        self._products: dict[tuple[int, Shape, Shape], float] = {}

    def transform(self, values: Sequence[float]) -> Coefficients:
        """Return the n - 1 coefficients of a series; its mean is left out."""
        return [sum(map(mul, row, values)) for row in self.rows]

    def column(self, shape: Shape) -> Coefficients:
        """Return a shape's coefficients."""
        if shape not in self._columns:
            curve = SHAPES[shape[0]]
            self._columns[shape] = self.transform([curve(t, shape[1]) for t in range(self.n)])
        return self._columns[shape]

    def weighted(self, ratio: int, shape: Shape) -> Coefficients:
        """Return a shape's coefficients times the weights of a noise ratio."""
        key = (ratio, shape)
        if key not in self._weighted:
            self._weighted[key] = list(map(mul, self.weights[ratio], self.column(shape)))
        return self._weighted[key]

    def product(self, ratio: int, one: Shape, other: Shape) -> float:
        """Return the weighted inner product of two shapes."""
        key = (ratio, one, other) if one <= other else (ratio, other, one)
        if key not in self._products:
            self._products[key] = sum(map(mul, self.weighted(ratio, one), self.column(other)))
        return self._products[key]


Shape = tuple[str, float]


def _ramp(t: float, start: float) -> float:
    return max(0.0, t - start)


def _saturation(t: float, tau: float) -> float:
    return 1.0 - math.exp(-t / tau)


def _step(t: float, start: float) -> float:
    return 1.0 if t >= start else 0.0


SHAPES: dict[str, Callable[[float, float], float]] = {
    "ramp": _ramp,
    "saturation": _saturation,
    "step": _step,
}


def _weight(ratio: float, stiffness: float) -> float:
    return stiffness if math.isinf(ratio) else 1.0 / (1.0 + ratio / stiffness)


@lru_cache(maxsize=8)
def basis(n: int) -> Basis:
    """Return the basis for ``n`` rounds (cached: a run judges thousands of series of a length)."""
    return Basis(n)
