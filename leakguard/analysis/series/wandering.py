"""Noise models with random drift, and how shapes are fitted under them.

The noise is a local level model (Harvey 1989, chapter 2): a value is a shape, plus white noise,
plus a level that takes random steps. The steps are larger between looks that are further apart. The
model separates a trend from random drift: a trend must be steadier than the drifting level, and the
series itself shows how much the level drifts. The Kalman filter turns values into independent
innovations ("surprises" in the code) at looks any distance apart, so every fit is an ordinary
least-squares fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import mul

from leakguard.analysis.series.tolerance import ENOUGH, PLACES, RATIOS, ROUNDING, TAUS, WARM_UP


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the inner product of two vectors."""
    return float(sum(map(mul, one, other)))


# Indexes of two curves, and the three distinct entries of the inverse of their Gram matrix.
Pair = tuple[int, int, float, float, float]


def solve(one: int, other: int, first: float, both: float, second: float) -> Pair | None:
    """Return the pair of two curves with this Gram matrix; None if it is (nearly) singular."""
    determinant = first * second - both * both
    if determinant <= ROUNDING * first * second:
        return None
    return one, other, second / determinant, -both / determinant, first / determinant


class Design:
    """The curves that are fitted to looks at these times.

    Attributes:
        times: the times of the looks, from 0 on, with a mean gap of 1.
        starts: indexes of the looks after which a ramp may rise.
        growing: how many of ``starts`` are allowed for a ramp that lasts to the end, which is
            growth; the later ones only mark the end of a fill.
        taus: time constants of the saturations, in mean gaps.
        warm_ups: how many of ``taus`` are short enough for a warm-up.
        curves: the ramps, then the saturations.
    """

    def __init__(self, times: Sequence[float]) -> None:
        self.times = times
        n, last = len(times), times[-1]
        places = sorted({round(i * n / PLACES) for i in range(PLACES - 1)})
        self.starts = [s for s in places if s == 0 or s < n - 2]
        self.growing = sum(s == 0 or s + ENOUGH <= n for s in self.starts[:-2] or [0])
        self.taus = [tau * last for tau in TAUS if tau * last > 0.5 * times[1]]
        self.warm_ups = sum(tau <= WARM_UP * last for tau in self.taus)
        self.curves = [self.ramp(start) for start in self.starts]
        self.curves += [self.saturation(tau) for tau in self.taus]
        self.models = tuple(Model(self, ratio) for ratio in RATIOS)

    def ramp(self, start: int) -> list[float]:
        """Return a line that is 0 up to look ``start`` and then rises by one per mean gap."""
        begun = self.times[start]
        return [max(0.0, t - begun) for t in self.times]

    def saturation(self, tau: float) -> list[float]:
        """Return a curve that saturates at 1 with this time constant."""
        return [1.0 - math.exp(-t / tau) for t in self.times]

    def step(self, first: int) -> list[float]:
        """Return a series that is 0 before look ``first`` and 1 from that look on."""
        return [0.0] * first + [1.0] * (len(self.times) - first)


class Model:
    """The curves of a design under one noise model.

    Attributes:
        walk: True for a pure random walk; its variance is the variance of one step.
        log_variance: sum of the logarithms of the innovations' variances.
        curves: the design's curves, whitened by the noise model.
        energy: the sum of squares of each whitened curve.
        inverse: the reciprocal of each ``energy``; 0 if the energy is 0.
        fills: (starting ramp, ending ramp, reciprocal of the energy of their difference).
        warm_leaks: pairs of a ramp and a saturation, for growth after a warm-up.
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

    def _product(self, one: int, other: int) -> float:
        return dot(self.curves[one], self.curves[other])

    def surprises(self, values: Sequence[float]) -> list[float]:
        """Return the innovations: the scaled difference of each value from its prediction.

        The first value has no prediction, so the result is one shorter than ``values``.
        """
        level, surprises = values[0], []
        for value, (gain, scale) in zip(values[1:], self._gains, strict=True):
            surprise = value - level
            surprises.append(surprise * scale)
            level += gain * surprise
        return surprises


def _gains(times: Sequence[float], ratio: float) -> tuple[list[tuple[float, float]], float]:
    """Return the Kalman filter's constants for each look but the first, and the log variance.

    The constants are the gain and the reciprocal of the innovation's standard deviation.
    """
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

    The design is cached, because a run judges thousands of series at the same looks.
    """
    return Design(times)
