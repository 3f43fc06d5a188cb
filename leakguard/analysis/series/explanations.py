"""Scores the explanations of a series, benign ones and growth, against each other.

Each explanation is a shape under noise that may drift. Its score is -2 log likelihood plus a
penalty for each parameter. The penalty is the gain that a t test would require: high for few looks,
and smoothly lower for more. Growth is accepted if every benign explanation scores worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from leakguard.analysis.facts.reason import Benign
from leakguard.analysis.series.estimators import quantile
from leakguard.analysis.series.tolerance import FINEST_STEP, RISK, RISK_OF_TWO, TAUS
from leakguard.analysis.series.wandering import Model, Pair, design, dot, solve

Kind = Benign | Literal["growth"]

# Derived: the largest factor between neighbouring time constants of the grid.
_GRID = max(longer / shorter for shorter, longer in pairwise(TAUS))


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
        t = quantile(RISK_OF_TWO if left == 1 else RISK, left)
        total += freedom * math.log1p(t * t / left)
    return total


class Explanations:
    """The best fit of each kind of explanation of one series.

    Args:
        times: times of at least three looks, from 0 on, with a mean gap of 1.
        values: the series at these looks.
        steps: indexes of looks at which the value may have jumped.
        least: lower bound of a value's variance.
        noises: how many noise models may explain the values; those with most drift are taken first.
    """

    def __init__(
        self,
        times: tuple[float, ...],
        values: Sequence[float],
        steps: Sequence[int],
        least: float,
        noises: int,
    ) -> None:
        self.design = design(times)
        self.best: dict[Kind, Fit] = {}
        self._freedom = len(times) - 1
        self._least = self._freedom * least
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
        left = energy - explained
        variance = ((left if left > 0.0 else 0.0) + least) / freedom
        if variance <= 0.0:
            return math.inf
        score = freedom * math.log(variance) + model.log_variance + price(freedom, parameters)
        best = self.best.get(kind)
        if score < (math.inf if best is None else best.score):
            self.best[kind] = Fit(score, model, variance, parameters, start, end, tau)
        return score

    def _weigh_growth(self, model: Model, energy: float, along: Sequence[float]) -> None:
        """Score lines that start at the first look or a later one, alone or after a warm-up."""
        starts, taus = self.design.starts, self.design.taus
        for i in range(self.design.growing):
            if along[i] > 0.0:
                explained = along[i] ** 2 * model.inverse[i]
                self._offer("growth", model, energy, explained, 2 if i else 1, starts[i])
        found = _best_growth(model.warm_leaks, along, along)
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
        """Score one step, two steps, and a step together with growth."""
        starts = self.design.starts
        known = {step: model.surprises(self.design.step(step)) for step in steps}
        heights = {step: dot(surprises, column) for step, column in known.items()}
        for step, column in known.items():
            height, own = heights[step], dot(column, column)
            self._offer("step", model, energy, height * height / own, 2, step, step)
            stepped = [height] * len(along)
            ramps = enumerate(model.curves[: self.design.growing])
            pairs = (solve(i, i, model.energy[i], dot(ramp, column), own) for i, ramp in ramps)
            found = _best_growth(filter(None, pairs), along, stepped)
            if found:
                explained, i, _ = found
                self._offer("growth", model, energy, explained, 4 if i else 3, starts[i], step)
        for first, other in combinations(known, 2):
            one, two = known[first], known[other]
            pair = solve(0, 0, dot(one, one), dot(one, two), dot(two, two))
            if pair:
                p, q, (_, _, own, both, second) = heights[first], heights[other], pair
                explained = p * (p * own + q * both) + q * (p * both + q * second)
                self._offer("two steps", model, energy, explained, 4, first, max(first, other))

    def refine(self) -> None:
        """Also fit curves with time constants between those of the grid.

        With little noise, the residual of the nearest grid point would look like growth.
        """
        self._refine_tau()
        self._refine_warm_leak()

    def _refine_tau(self) -> None:
        longest = self.design.times[-1]
        spread, tau = _GRID, self.best["saturation"].tau if "saturation" in self.best else None
        while tau is not None and spread > FINEST_STEP:
            spread = math.sqrt(spread)
            for near in (tau / spread, min(longest, tau * spread)):
                curve = self.design.saturation(near)
                for model, surprises, energy in self._likely("saturation"):
                    column = model.surprises(curve)
                    explained = dot(surprises, column) ** 2 / dot(column, column)
                    self._offer("saturation", model, energy, explained, 2, tau=near)
            tau = self.best["saturation"].tau

    def _refine_warm_leak(self) -> None:
        growth = self.best.get("growth")
        if growth is None or growth.tau is None:
            return
        for start in {0, growth.start or 0}:
            spread, tau = _GRID, growth.tau
            best = self._offer_warm_leak(start, tau)
            while spread > FINEST_STEP:
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
        ramp, curve = self.design.ramp(start), self.design.saturation(tau)
        for model, surprises, energy in self._likely("growth"):
            steep, bowed = model.surprises(ramp), model.surprises(curve)
            pair = solve(0, 0, dot(steep, steep), dot(steep, bowed), dot(bowed, bowed))
            if pair is None:
                continue
            found = _best_growth((pair,), (dot(surprises, steep),), (dot(surprises, bowed),))
            if found:
                explained, parameters = found[0], 4 if start else 3
                score = self._offer("growth", model, energy, explained, parameters, start, tau=tau)
                best = min(best, score)
        return best


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
