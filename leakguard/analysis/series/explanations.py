"""Scores the explanations of a series, benign ones and growth, against each other.

Each explanation is a shape under noise that may drift. Its score is -2 log likelihood plus a
penalty for each parameter. The penalty is the gain that a t test would require: high for few looks,
and smoothly lower for more. Growth is accepted if every benign explanation scores worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

from leakguard.analysis.series.estimators import quantile
from leakguard.analysis.series.verdict import Benign
from leakguard.analysis.series.wandering import PLACES, Model, Pair, design, dot, solve

Kind = Benign | Literal["growth"]

# Risk of error of each one-sided t test. Chosen: a thousand series of noise show false growth four
# times, and a second measurement must still confirm it.
RISK = 0.004
# Risk of error of each one-sided t test with one degree of freedom (three samples). Chosen larger
# than RISK, so that a count that rises twice by 11 objects or more is accepted as growth. With
# RISK, only two rises by 32 would be accepted.
_RISK_OF_TWO = 0.0125
# The most parameters of a shape.
_MOST_PARAMETERS = 4
# A residual below this share of the sum of squares is a rounding error.
_LEFT_BY_ROUNDING = 1e-12
# _GRID is the largest factor between neighbouring time constants of the grid (``wandering._TAUS``).
# The search between them stops at 0.1 % of a time constant (_FINEST_STEP), because smaller steps
# change no score by a decisive amount.
_GRID, _FINEST_STEP = 2.0, 1.001


class Fit(NamedTuple):
    """The best fit of one kind of explanation.

    Attributes:
        score: the information criterion; smaller is better.
        model: the noise model under which the fit is best.
        variance: variance of the white noise; for a pure random walk, of the level's steps.
        parameters: how many parameters the shape has.
        start: index of the look after which growth or a fill starts, or of the first step.
        end: index of the look at which a fill is full, or of the latest step.
        tau: time constant of the saturation in the shape, in mean gaps; None without one.
    """

    score: float
    model: Model
    variance: float
    parameters: int
    start: int | None = None
    end: int | None = None
    tau: float | None = None


@lru_cache(maxsize=512)
def price(freedom: int, parameters: int) -> float:
    """Return the penalty of ``parameters``: the gain in -2 log likelihood that t tests require."""
    total = 0.0
    for left in range(freedom - 1, freedom - parameters - 1, -1):
        if left < 1:
            return math.inf
        t = quantile(_RISK_OF_TWO if left == 1 else RISK, left)
        total += freedom * math.log1p(t * t / left)
    return total


class Explanations:
    """The best fit of each kind of explanation of one series.

    Args:
        times: times of at least three looks, from 0 on, with a mean gap of 1.
        values: the series at these looks.
        steps: indexes of looks at which the value may have jumped.
        least: lower bound of a value's variance.
        late: how many changes growth must show if it starts after the first look.
        noises: how many noise models may explain the values; those with most drift are taken first.
    """

    def __init__(
        self,
        times: tuple[float, ...],
        values: Sequence[float],
        steps: Sequence[int],
        least: float,
        late: int,
        noises: int,
    ) -> None:
        self.design = design(times)
        growing = range(self.design.growing)
        # The ramps that may be growth: the first ``_ramps`` of the design.
        self._ramps = sum(not i or self.design.starts[i] + late < len(times) for i in growing)
        self.best: dict[Kind, Fit] = {}
        self._freedom = len(times) - 1
        self._least = self._freedom * least
        self._prices = [
            price(self._freedom, parameters) for parameters in range(_MOST_PARAMETERS + 1)
        ]
        self._series: list[tuple[Model, list[float], float]] = []
        for model in self.design.models[-noises:]:
            surprises = model.surprises(values)
            energy = dot(surprises, surprises)
            self._series.append((model, surprises, energy))
            along = [dot(surprises, curve) for curve in model.curves]
            self._offer("wandering", model, energy, 0.0, 0)
            self._weigh_growth(model, energy, along)
            self._weigh_curves(model, energy, along)
            self._weigh_steps(model, energy, along, steps, surprises)

    def _offer(
        self,
        kind: Kind,
        model: Model,
        energy: float,
        explained: float,
        parameters: int,
        start: int | None = None,
        end: int | None = None,
        tau: float | None = None,
    ) -> float:
        """Keep a fit if it is the best of its kind; return its score."""
        freedom = self._freedom
        least = self._least * (2.0 if model.walk else 1.0)
        left, rounding = energy - explained, _LEFT_BY_ROUNDING * energy
        variance = ((left if left > rounding else rounding) + least) / freedom
        if variance <= 0.0:
            return math.inf
        score = freedom * math.log(variance) + model.log_variance + self._prices[parameters]
        best = self.best.get(kind)
        if score < (math.inf if best is None else best.score):
            self.best[kind] = Fit(score, model, variance, parameters, start, end, tau)
        return score

    def _weigh_growth(self, model: Model, energy: float, along: Sequence[float]) -> None:
        """Score lines that start at the first look or a later one, alone or after a warm-up."""
        starts, taus = self.design.starts, self.design.taus
        for i in range(self._ramps):
            if along[i] > 0.0:
                explained = along[i] ** 2 * model.inverse[i]
                self._offer("growth", model, energy, explained, 2 if i else 1, starts[i])
        found = _best_growth(_up_to(self._ramps, model.warm_leaks), along, along)
        if found:
            explained, i, j = found
            tau = taus[j - len(starts)]
            self._offer("growth", model, energy, explained, 4 if i else 3, starts[i], tau=tau)

    def _weigh_curves(self, model: Model, energy: float, along: Sequence[float]) -> None:
        """Score curves towards a plateau, and lines that end on a plateau."""
        starts, taus = self.design.starts, self.design.taus
        ramps = len(starts)
        worth = [p * p * inverse for p, inverse in zip(along, model.inverse, strict=True)]
        i = max(range(ramps, len(worth)), key=worth.__getitem__)
        self._offer("saturation", model, energy, worth[i], 2, tau=taus[i - ramps])
        if model.fills:
            best, at = -math.inf, (0, 0)
            for i, j, inverse in model.fills:
                explained = (along[i] - along[j]) ** 2 * inverse
                if explained >= best:
                    best, at = explained, (i, j)
            i, j = at
            self._offer("fill", model, energy, best, 3 if i else 2, starts[i], starts[j])

    def _weigh_steps(
        self,
        model: Model,
        energy: float,
        along: Sequence[float],
        steps: Sequence[int],
        surprises: Sequence[float],
    ) -> None:
        """Score one step, two steps, and a step together with a saturation or with growth."""
        starts, taus = self.design.starts, self.design.taus
        known = {step: model.step(step) for step in steps}
        heights = {step: dot(surprises, one.column) for step, one in known.items()}
        for step, one in known.items():
            height = heights[step]
            self._offer("step", model, energy, height * height / one.energy, 2, step, step)
            stepped = [height] * len(along)
            if one.beside_saturations:
                explained, i = _best_beside(one.beside_saturations, along, height)
                tau = taus[i - len(starts)]
                self._offer("step and saturation", model, energy, explained, 4, step, tau=tau)
            found = _best_growth(_up_to(self._ramps, one.beside_ramps), along, stepped)
            if found:
                explained, i, _ = found
                self._offer("growth", model, energy, explained, 4 if i else 3, starts[i], step)
        for first, other in combinations(known, 2):
            one, two = known[first], known[other]
            pair = solve(0, 0, one.energy, dot(one.column, two.column), two.energy)
            if pair:
                explained, _ = _best_beside((pair,), (heights[first],), heights[other])
                self._offer("two steps", model, energy, explained, 4, first, max(first, other))

    def refine(self) -> None:
        """Also fit curves with time constants and positions between those of the grid.

        With little noise, the residual of the nearest grid point would look like growth.
        """
        self._refine_tau()
        self._refine_warm_leak()
        reach = len(self.design.times) // (2 * PLACES)  # half the distance between grid positions
        while reach and "fill" in self.best:
            fill = self.best["fill"]
            start, end = fill.start or 0, fill.end or 0
            for near in ((start - reach, end), (start + reach, end), (start, end - reach)):
                self._offer_fill(*near)
            self._offer_fill(start, end + reach)
            if self.best["fill"] is fill:
                reach //= 2

    def _refine_tau(self) -> None:
        longest = self.design.times[-1]
        spread, tau = _GRID, self.best["saturation"].tau if "saturation" in self.best else None
        while tau is not None and spread > _FINEST_STEP:
            spread = math.sqrt(spread)
            for near in (tau / spread, min(longest, tau * spread)):
                for model, surprises, energy in self._likely("saturation"):
                    explained = _worth(surprises, *model.saturation(near))
                    self._offer("saturation", model, energy, explained, 2, tau=near)
            tau = self.best["saturation"].tau

    def _refine_warm_leak(self) -> None:
        growth = self.best.get("growth")
        if growth is None or growth.tau is None:
            return
        for start in {0, growth.start or 0}:
            spread, tau = _GRID, growth.tau
            best = self._offer_warm_leak(start, tau)
            while spread > _FINEST_STEP:
                spread = math.sqrt(spread)
                for near in (tau / spread, tau * spread):
                    score = self._offer_warm_leak(start, near)
                    if score < best:
                        best, tau = score, near

    def _likely(self, kind: Kind) -> list[tuple[Model, list[float], float]]:
        """Return the noise models to try again: white noise, and those of ``kind`` and growth."""
        wanted = {id(self.best[k].model) for k in (kind, "growth") if k in self.best}
        wanted.add(id(self.design.models[0]))
        return [one for one in self._series if id(one[0]) in wanted]

    def _offer_warm_leak(self, start: int, tau: float) -> float:
        """Offer growth after a warm-up and return its score; infinite if nothing grows."""
        best = math.inf
        if tau > self.design.taus[self.design.warm_ups - 1]:
            return best
        ramp = self.design.ramp(start)
        for model, surprises, energy in self._likely("growth"):
            steep, (bowed, second) = model.surprises(ramp), model.saturation(tau)
            pair = solve(0, 0, dot(steep, steep), dot(steep, bowed), second)
            if pair is None:
                continue
            found = _best_growth((pair,), (dot(surprises, steep),), (dot(surprises, bowed),))
            if found:
                explained, parameters = found[0], 4 if start else 3
                score = self._offer("growth", model, energy, explained, parameters, start, tau=tau)
                best = min(best, score)
        return best

    def _offer_fill(self, start: int, end: int) -> None:
        if not 0 <= start < end <= self.design.starts[-1]:
            return
        rising = zip(self.design.ramp(start), self.design.ramp(end), strict=True)
        curve = [a - b for a, b in rising]
        for model, surprises, energy in self._likely("fill"):
            column = model.surprises(curve)
            explained = _worth(surprises, column, dot(column, column))
            self._offer("fill", model, energy, explained, 3 if start else 2, start, end)


def _best_beside(
    pairs: Iterable[Pair], firsts: Sequence[float], height: float
) -> tuple[float, int]:
    """Return the largest sum of squares that a curve explains with a step, and the curve's index.

    ``height`` is the inner product of the series and the step.
    """
    best, at = -math.inf, 0
    for i, _, first, both, second in pairs:
        p = firsts[i]
        explained = p * (p * first + height * both) + height * (p * both + height * second)
        if explained >= best:
            best, at = explained, i
    return best, at


def _worth(surprises: Sequence[float], column: Sequence[float], energy: float) -> float:
    """Return the sum of squares that one whitened curve explains."""
    along = dot(surprises, column)
    return along * along / energy


def _up_to(ramps: int, pairs: Sequence[Pair]) -> Iterable[Pair]:
    """Return the pairs whose first curve is one of the first ``ramps``; the pairs are in order."""
    return pairs if not pairs or pairs[-1][0] < ramps else (p for p in pairs if p[0] < ramps)


def _best_growth(
    pairs: Iterable[Pair], ramps: Sequence[float], others: Sequence[float]
) -> tuple[float, int, int] | None:
    """Return the pair that explains most among those whose first curve rises; None without any."""
    best, at = 0.0, None
    for i, j, first, both, second in pairs:
        p, q = ramps[i], others[j]
        slope = p * first + q * both
        if slope > 0.0:
            explained = p * slope + q * (p * both + q * second)
            if explained > best:
                best, at = explained, (i, j)
    return None if at is None else (best, *at)


def forget() -> None:
    """Free the tables that are cached for later series, up to 50,000 numbers per length."""
    design.cache_clear()
    price.cache_clear()
    quantile.cache_clear()
