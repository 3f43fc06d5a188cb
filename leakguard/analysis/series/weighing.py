"""Scores the explanations of a series and compares growth with the benign ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import NormalDist

from leakguard.analysis.facts.reason import Benign
from leakguard.analysis.series import estimators
from leakguard.analysis.series.explanations import Explanations, Fit, price
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.tolerance import (
    DOUBTFUL,
    EXACT,
    LOSS,
    MAY_BE_CHANCE,
    MOST_LOSS,
    NEAR_SHARE,
    RATIOS,
    RISK,
    STEP_IN_TIME,
)
from leakguard.analysis.series.verdict import Plateau
from leakguard.analysis.tolerance import BEYOND_CHANCE, FEWEST_LOOKS, NEARLY_ALL

# Derived: noise alone bends a series by more standard errors in less than one run in five.
_BEND_ERRORS = NormalDist().inv_cdf(NEARLY_ALL)


def _noises(looks: Looks) -> int:
    """Return how many noise models may explain the looks; a single one is a pure random walk."""
    if looks.integer:
        return 1 if len(looks) < BEYOND_CHANCE else len(RATIOS)
    return min(len(RATIOS), max(1, len(looks) - MAY_BE_CHANCE + 1))


class Weighing:
    """The scored explanations of a series, growth included.

    Attributes:
        looks: the looks without spikes.
        best: the best fit of each kind of explanation.
        growth: the best fit of growth; None if nothing rises.
        lead: by how much each benign explanation scores worse than growth.
    """

    def __init__(self, looks: Looks) -> None:
        self.looks = looks.without_spikes()
        self._gap = looks.gap
        self._span = self.looks.span or 1.0
        begun, first = looks.times[0], self.looks.values[0]
        times = tuple(round((t - begun) / self._gap, 9) for t in looks.times)
        # Scaled to a span of 1, so that squares stay finite.
        values = [(value - first) / self._span for value in self.looks.values]
        least = math.sqrt(self.looks.least_variance) / self._span
        # Where the value may have jumped: the two largest changes, and where the mean changes most.
        beyond = self.looks.beyond()
        largest = sorted(range(len(beyond)), key=lambda i: -abs(beyond[i]))[:2]
        self._explanations = Explanations(
            times,
            values,
            sorted({_largest_shift(values), *(i + 1 for i in largest)}),
            min(least, 1.0 / EXACT) ** 2 + EXACT,
            noises=_noises(self.looks),
        )
        self.best = self._explanations.best
        if self.rises:
            self._explanations.refine()

    @property
    def growth(self) -> Fit | None:
        return self.best.get("growth")

    @property
    def lead(self) -> dict[Benign, float]:
        limit = math.inf if self.growth is None else self.growth.score
        return {k: fit.score - limit for k, fit in self.best.items() if k != "growth"}

    @property
    def healthiest(self) -> Benign:
        """The benign explanation that scores best."""
        return min(self.lead, key=lambda kind: self.best[kind].score)

    @property
    def grows(self) -> bool:
        """True if growth scores better than every benign explanation."""
        return self.growth is not None and min(self.lead.values()) > 0.0

    @property
    def rises(self) -> bool:
        """True if the rise is probably not chance (a risk of 10 %)."""
        growth, freedom = self.growth, len(self.looks) - 1
        if growth is None:
            return False
        t = estimators.quantile(DOUBTFUL, max(1, freedom - 1))
        doubtful = freedom * math.log1p(t * t / max(1, freedom - 1))
        gained = self.lead["wandering"] + price(freedom, growth.parameters)
        return gained > doubtful * growth.parameters

    def settled(self, growth: Fit) -> int:
        """Return the look from which only growth, and no warm-up or step, moves the value."""
        n, start = len(self.looks), growth.start or 0
        if growth.tau is not None:
            over = self.looks.times[0] + math.log(1.0 / NEAR_SHARE) * growth.tau * self._gap
            start = max(start, min(sum(t < over for t in self.looks.times), n // 2))
        if growth.end is not None and growth.end < STEP_IN_TIME * n:
            start = max(start, growth.end)
        return start

    def grown(self, growth: Fit) -> Looks:
        """Return the looks after the warm-up, without what is left of it or a late step.

        Worth, on 871 simulated leaks: without the subtraction, 7 more are not found.
        """
        looks, n, curve = self.looks, len(self.looks), None
        if growth.tau is not None:
            begun, tau = looks.times[0], growth.tau * self._gap
            curve = [-math.exp(-(t - begun) / tau) for t in looks.times]
        elif growth.end is not None and STEP_IN_TIME * n <= growth.end < n - FEWEST_LOOKS:
            # Too few looks follow a later step to show that growth continues.
            curve = [float(i >= growth.end) for i in range(n)]
        if curve is not None:
            started = looks.times[growth.start or 0]
            ramp = [max(0.0, t - started) for t in looks.times]
            height = estimators.partial_slope(looks.values, curve, ramp)
            left = [v - height * c for v, c in zip(looks.values, curve, strict=True)]
            looks = looks.with_values(left)
        return looks.since(self.settled(growth))

    def slows(self, growth: Fit) -> bool:
        """Return True if the growth slows down, even if no benign shape describes it.

        Growth of fewer than three looks may slow down, so it counts as well.
        """
        grown = self.grown(growth)
        if len(grown) < FEWEST_LOOKS:
            return True
        least = 1.0 - min(MOST_LOSS, LOSS * (len(grown) - 2))
        ratio, error = estimators.bend(grown.times, grown.values, grown.least_variance)
        return ratio < least and ratio + _BEND_ERRORS * error < 1.0

    def rate(self, fit: Fit) -> tuple[float, tuple[float, float]]:
        """Return the slope since the series settled, with an interval widened for random drift."""
        white = estimators.slope_variance(len(self.looks))
        widening = math.sqrt(max(1.0, 1.0 / fit.model.energy[0] / white))
        return self.grown(fit).rate(widening)

    def detectable(self, fit: Fit) -> float:
        """Return the smallest rate per generation that would be accepted under a fit's noise."""
        t = estimators.quantile(RISK, max(1, len(self.looks) - 2))
        return t * self._span * math.sqrt(fit.variance / fit.model.energy[0]) / self._gap

    def plateau(self) -> tuple[Plateau, float] | None:
        """Return the plateau of the best saturation, and the share of its height that is left."""
        fit = self.best.get("saturation")
        if fit is None or fit.tau is None:
            return None
        begun, tau = self.looks.times[0], fit.tau * self._gap
        curve = [1.0 - math.exp(-(t - begun) / tau) for t in self.looks.times]
        height, _, level = estimators.line(curve, self.looks.values)
        mean = math.fsum(curve) / len(curve)
        near = max(NEAR_SHARE * abs(height), self.looks.noise_floor)
        full = tau * math.log(max(1.0, abs(height) / near)) if height > 0.0 else 0.0
        found = Plateau(level + height * (1.0 - mean), math.ceil(begun + full))
        return found, 1.0 - curve[-1]

    def saturates(self, growth: Fit) -> bool:
        """Return True if a saturation fits better than growth, ignoring penalties of parameters."""
        fit, freedom = self.best.get("saturation"), len(self.looks) - 1
        if fit is None:
            return False
        one, other = price(freedom, fit.parameters), price(freedom, growth.parameters)
        return fit.score - one < growth.score - other


def _largest_shift(values: Sequence[float]) -> int:
    """Return the look at which the mean changes most (CUSUM)."""
    n, mean = len(values), math.fsum(values) / len(values)
    sums = list(accumulate(value - mean for value in values))
    return max(range(1, n), key=lambda k: sums[k - 1] ** 2 / (k * (n - k)))
