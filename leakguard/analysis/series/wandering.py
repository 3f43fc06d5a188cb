"""Noise that drifts: what a series does by itself, and how the shapes beneath it are fitted.

The local level model (Harvey 1989, chapter 2): a value is a shape, plus white noise, plus a level
that takes random steps, larger ones between looks that are further apart. It separates drift from
diffusion: a trend must be steadier than a drifting level, and the same series shows how much the
level drifts. The Kalman filter turns values into independent surprises at looks any distance apart,
so every fit is an ordinary least-squares sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import mul

from leakguard.analysis.series.estimators import ROUNDING

# Variance of the drift's step per mean gap, relative to that of the white noise, in factors of 10.
# Closer values change the log likelihood of 100 samples by less than 1. The last one is a pure
# random walk.
_RATIOS = (0.0, 0.001, 0.01, 0.1, 1.0, math.inf)
NOISES = len(_RATIOS)
# Positions, evenly over the run, where a ramp may start or end. Chosen: the cost of a fit is their
# number squared, and positions in between are fitted later (``Explanations.refine``).
PLACES = 16
# Time constants of a saturation in lengths of the run, each at most twice the one before, for the
# same reason.
_TAUS = (0.02, 0.04, 0.07, 0.12, 0.2, 0.33, 0.5, 0.75, 1.0)
# The longest time constant that is a warm-up. Chosen: after two of them, at 0.4 of the run, 86 % of
# the warm-up is over, and the rest of the run shows a leak.
WARM_UP = 0.2
# Samples after the first one of a ramp: four in all tell a line from a step.
_FEWEST_AFTER = 3


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the inner product."""
    return float(sum(map(mul, one, other)))


# Places of two curves, and the inverse of their Gram matrix: first, both, second.
Pair = tuple[int, int, float, float, float]


def solve(one: int, other: int, first: float, both: float, second: float) -> Pair | None:
    """Return the pair of two curves with this Gram matrix; None for curves that are alike."""
    determinant = first * second - both * both
    if determinant <= ROUNDING * first * second:
        return None
    return one, other, second / determinant, -both / determinant, first / determinant


class Design:
    """The curves that are fitted to looks at these times.

    Attributes:
        times: the looks, from 0 on, a mean gap of 1 apart.
        starts: index of the look after which a ramp rises.
        ends: how many of the starts a ramp may have that lasts to the end; later ones end a fill.
        taus: time constants of the saturations, in mean gaps.
        curves: the ramps, then the saturations.
    """

    def __init__(self, times: Sequence[float]) -> None:
        self.times = times
        n, last = len(times), times[-1]
        places = sorted({round(i * n / PLACES) for i in range(PLACES - 1)})
        self.starts = [s for s in places if s == 0 or s < n - 2]
        self.growing = sum(s == 0 or s + _FEWEST_AFTER < n for s in self.starts[:-2] or [0])
        self.taus = [tau * last for tau in _TAUS if tau * last > 0.5 * times[1]]
        self.warm_ups = sum(tau <= WARM_UP * last for tau in self.taus)
        self.curves = [self.ramp(start) for start in self.starts]
        self.curves += [self.saturation(tau) for tau in self.taus]
        self.models = tuple(Model(self, ratio) for ratio in _RATIOS)

    def ramp(self, start: int) -> list[float]:
        """Return a line that rises by one a mean gap after look ``start``."""
        begun = self.times[start]
        return [max(0.0, t - begun) for t in self.times]

    def saturation(self, tau: float) -> list[float]:
        """Return a curve that rises by one with this time constant."""
        return [1.0 - math.exp(-t / tau) for t in self.times]

    def step(self, first: int) -> list[float]:
        """Return a series that is one from look ``first`` on, zero before."""
        return [0.0] * first + [1.0] * (len(self.times) - first)


class Model:
    """The curves of a design under one noise model.

    Attributes:
        walk: True for a pure random walk, whose variance is that of a step.
        log_variance: sum of the logarithms of the surprises' variances.
        curves: the design's curves as surprises.
        energy: their squares, and one over them.
        fills: (ramp that starts, ramp that ends, one over the energy of their difference).
        warm_leaks: a ramp and a saturation that precedes it.
    """

    def __init__(self, design: Design, ratio: float) -> None:
        self.walk = math.isinf(ratio)
        self._gains, self.log_variance = _gains(design.times, ratio)
        self.curves = [self.surprises(curve) for curve in design.curves]
        self.energy = [dot(curve, curve) for curve in self.curves]
        self.inverse = [1.0 / energy if energy > 0.0 else 0.0 for energy in self.energy]
        ramps = len(design.starts)
        self.fills = [
            (i, j, 1.0 / energy)
            for i in range(ramps)
            for j in range(i + 1, ramps)
            if (energy := self.energy[i] + self.energy[j] - 2.0 * self._product(i, j)) > 0.0
        ]
        self.warm_leaks = [
            solved
            for i in range(design.growing)
            for j in range(ramps, ramps + design.warm_ups)
            if (solved := solve(i, j, self.energy[i], self._product(i, j), self.energy[j]))
        ]
        self._design = design
        self._steps: dict[int, tuple[float, list[float], list[float]]] = {}

    def _product(self, one: int, other: int) -> float:
        return dot(self.curves[one], self.curves[other])

    def surprises(self, values: Sequence[float]) -> list[float]:
        """Return the difference of each value but the first to its prediction."""
        level, surprises = values[0], []
        for value, (gain, scale) in zip(values[1:], self._gains, strict=True):
            surprise = value - level
            surprises.append(surprise * scale)
            level += gain * surprise
        return surprises

    def step(self, first: int) -> tuple[float, list[float], list[float]]:
        """Return a step's energy, its surprises, and its inner products with all curves."""
        if first not in self._steps:
            column = self.surprises(self._design.step(first))
            across = [dot(curve, column) for curve in self.curves]
            self._steps[first] = dot(column, column), column, across
        return self._steps[first]


def _gains(times: Sequence[float], ratio: float) -> tuple[list[tuple[float, float]], float]:
    """Return the Kalman gain of each look and one over the deviation of its surprise."""
    gains, logs, known = [], 0.0, 1.0
    for before, after in pairwise(times):
        if math.isinf(ratio):
            variance, gain = after - before, 1.0
        else:
            unsure = known + ratio * (after - before)
            variance = unsure + 1.0
            gain = known = unsure / variance
        gains.append((gain, 1.0 / math.sqrt(variance)))
        logs += math.log(variance)
    return gains, logs


@lru_cache(maxsize=8)
def design(times: tuple[float, ...]) -> Design:
    """Return the design for looks at these times.

    Cached: a run judges thousands of series at the same looks.
    """
    return Design(times)
