"""Noise that wanders, and the shapes that are fitted beneath it.

The local level model (Harvey 1989, chapter 2): a round's value is a shape, plus white noise, plus a
level that takes random steps. It tells drift from diffusion: a trend must be steadier than what a
wandering level does by itself, and how much the level wanders is read from the same series. Noise
that wanders but comes back, AR(1), stands beside it.

With an unknown starting level the noise is uncorrelated in the cosine basis (DCT-II): the precision
of a random walk is the Laplacian of a path, whose eigenvectors are these cosines (for AR(1) nearly
so). So a fit is a weighted least-squares sum over coefficients; all that depends on the length
alone is cached.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mul

# Variance of the level's step over that of the white noise; the last is a pure random walk.
_WANDERING = (0.0, 0.0004, 0.002, 0.01, 0.05, 0.25, 1.5, math.inf)
# Coefficients of AR(1) noise; 0.9 is served by the wandering levels.
_RETURNING = (0.35, 0.6)
# Ramps and saturations live in the low frequencies: what lies above is below 1e-6 of their energy.
_FREQUENCIES = 64
_RAMPS = 16
# Time constants of saturations, in lengths of the series.
TAUS = (0.02, 0.04, 0.07, 0.12, 0.2, 0.33, 0.5, 0.75, 1.0, 1.5, 2.5)
# A warm-up may precede a leak when it is over well before the end.
WARM_UPS = 5
# Growth must show in the last quarter at least, a fill must have been full for an eighth.
LAST_GROWTH = 13
_LAST_FILL = 14


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the inner product over the coefficients that both have."""
    return float(sum(map(mul, one, other)))


class Basis:
    """The cosine basis for ``n`` rounds, and the shapes of a series in it.

    Attributes:
        starts: rounds at which a ramp may start.
        taus: time constants of the saturations, in rounds.
        curves: coefficients of the ramps, then of the saturations.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._scale = scale = math.sqrt(2.0 / n)
        cosines = [math.cos(math.pi * i / (2 * n)) for i in range(4 * n)]
        self._rows = [
            [scale * cosines[k * (2 * t + 1) % (4 * n)] for t in range(n)] for k in range(1, n)
        ]
        self._cosines = cosines
        self._half_sines = [math.sin(0.5 * math.pi * k / n) for k in range(1, n)]
        self._half_cosines = [math.cos(0.5 * math.pi * k / n) for k in range(1, n)]
        self.stiffness = [4.0 * sine * sine for sine in self._half_sines]
        self._ramps: dict[int, list[float]] = {}
        self._steps: dict[int, list[float]] = {}
        self.starts = [round(i * n / _RAMPS) for i in range(_LAST_FILL + 1)]
        self.taus = [n * tau for tau in TAUS]
        self.curves = [self.ramp(start) for start in self.starts]
        self.curves += [self.saturation(tau) for tau in self.taus]

    def transform(self, values: Sequence[float]) -> list[float]:
        """Return the n - 1 coefficients of a series; its mean is left out."""
        return [sum(map(mul, row, values)) for row in self._rows]

    def step(self, start: int) -> list[float]:
        """Return the coefficients of a series that is one from round ``start`` on, zero before.

        The sum over t >= s of cos(w (t + 1/2)) is -sin(w s) / (2 sin(w / 2)).
        """
        if start not in self._steps:
            n, cosines = self.n, self._cosines
            # sin(w s) is the cosine a quarter turn earlier, n places back in the table.
            self._steps[start] = [
                -0.5 * self._scale * cosines[(2 * k * start - n) % (4 * n)] / half
                for k, half in enumerate(self._half_sines, 1)
            ]
        return self._steps[start]

    def ramp(self, start: int) -> list[float]:
        """Return the coefficients of a line that rises by one a round after ``start``.

        A ramp is the sum of the steps after its start, which telescopes in the same way.
        """
        if start not in self._ramps:
            n, cosines = self.n, self._cosines
            self._ramps[start] = [
                0.25
                * self._scale
                * (cosines[k * (2 * n - 1) % (4 * n)] - cosines[k * (2 * start + 1) % (4 * n)])
                / (half * half)
                for k, half in enumerate(self._half_sines[:_FREQUENCIES], 1)
            ]
        return self._ramps[start]

    def saturation(self, tau: float) -> list[float]:
        """Return the coefficients of a curve that rises by one with this time constant.

        With r = exp(-1 / tau) the sum over t of r^t cos(w (t + 1/2)) is
        (1 - (-1)^k r^n) (1 - r) cos(w / 2) / (1 - 2 r cos(w) + r^2).
        """
        keep = math.exp(-1.0 / tau)
        end = math.exp(-self.n / tau)
        top = self._scale * (1.0 - keep)
        return [
            -top * (1.0 + end if k % 2 else 1.0 - end) * half / ((1.0 - keep) ** 2 + keep * mu)
            for k, half, mu in zip(
                range(1, _FREQUENCIES + 1), self._half_cosines, self.stiffness, strict=False
            )
        ]


# Places of two curves, and the inverse of their Gram matrix: first, both, second.
Pair = tuple[int, int, float, float, float]


class Noise:
    """The basis under one noise model.

    Attributes:
        weights: one over the variance of each coefficient, up to a common factor.
        log_variance: sum of the logarithms of the variances.
        inverse: one over the weighted energy of each curve.
        fills: (ramp that starts, ramp that ends, one over the energy of their difference).
        warm_leaks: a ramp and a saturation that precedes it.
    """

    def __init__(self, basis: Basis, weights: list[float]) -> None:
        self.basis, self.weights = basis, weights
        self.log_variance = -math.fsum(map(math.log, self.weights))
        curves = basis.curves
        self.weighted = [list(map(mul, self.weights, curve)) for curve in curves]
        self.energy = [dot(w, curve) for w, curve in zip(self.weighted, curves, strict=True)]
        self.inverse = [1.0 / energy for energy in self.energy]
        ramps = len(basis.starts)
        self.fills = [
            (i, j, 1.0 / (self.energy[i] + self.energy[j] - 2.0 * self._product(i, j)))
            for i in range(ramps)
            for j in range(i + 2, ramps)
        ]
        self.warm_leaks = [
            solved
            for i in range(LAST_GROWTH)
            for j in range(ramps, ramps + WARM_UPS)
            if (solved := solve(i, j, self.energy[i], self._product(i, j), self.energy[j]))
        ]
        self._steps: dict[int, tuple[float, list[float]]] = {}

    def _product(self, one: int, other: int) -> float:
        return dot(self.weighted[one], self.basis.curves[other])

    def step(self, start: int) -> tuple[float, list[float]]:
        """Return the energy of a step, and its inner products with all curves."""
        if start not in self._steps:
            column = self.basis.step(start)
            energy = math.fsum(w * c * c for w, c in zip(self.weights, column, strict=True))
            self._steps[start] = energy, [dot(weighted, column) for weighted in self.weighted]
        return self._steps[start]

    def between(self, one: int, other: int) -> float:
        """Return the inner product of two steps."""
        return dot(map(mul, self.weights, self.basis.step(one)), self.basis.step(other))


def solve(one: int, other: int, first: float, both: float, second: float) -> Pair | None:
    """Return the pair of two curves with this Gram matrix; None for curves that are alike."""
    determinant = first * second - both * both
    if determinant <= 1e-9 * first * second:
        return None
    return one, other, second / determinant, -both / determinant, first / determinant


def _wandering(ratio: float, stiffness: Sequence[float]) -> list[float]:
    if math.isinf(ratio):
        return list(stiffness)
    return [1.0 / (1.0 + ratio / mu) for mu in stiffness]


def _returning(coefficient: float, stiffness: Sequence[float]) -> list[float]:
    return [(1.0 - coefficient) ** 2 + coefficient * mu for mu in stiffness]


@lru_cache(maxsize=6)
def noises(n: int) -> tuple[Basis, tuple[Noise, ...]]:
    """Return the basis for ``n`` rounds and its noise models.

    Cached: a run judges thousands of series of one length.
    """
    basis = Basis(n)
    weights = [_wandering(ratio, basis.stiffness) for ratio in _WANDERING]
    weights += [_returning(coefficient, basis.stiffness) for coefficient in _RETURNING]
    return basis, tuple(Noise(basis, w) for w in weights)
