"""Scores the explanations of a series and compares growth with the benign ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from leakguard.analysis.series import estimators, staircase
from leakguard.analysis.series.explanations import RISK, Explanations, Fit, price
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.shapes import NEAR_SHARE
from leakguard.analysis.series.verdict import Benign
from leakguard.analysis.series.wandering import NOISES
from leakguard.analysis.tolerance import FEWEST_LOOKS

# Growth may slow down a little. Its last slope may be below its first slope by a share that depends
# on the number of samples.
# _LOSS: this share per sample from the third sample on, so 2.5 % for three samples and 30 % for 14.
# Chosen.
# _MOST_LOSS: the largest share, from the 14th sample on. Measured: growth of 0.2 standard
# deviations per sample over 100 samples loses less than 30 % in 99 of 100 runs. A saturation whose
# time constant is the length of the run loses more than 30 % in 99 of 100 runs.
_LOSS, _MOST_LOSS = 0.025, 0.3
# A bend counts if it exceeds this many standard errors: noise alone does so in less than one run in
# five (the 80 % point of a normal distribution). Chosen.
_BEND_ERRORS = 0.84
# The fewest changes that growth must show if it starts after the first sample, by whether the
# values are counts (True) or sizes (False). Chosen: five for sizes, because a buffer that only
# begins to fill changes its size three times; three for counts, which have no measurement noise.
_LATE = {True: 3, False: 5}
# A few samples cannot distinguish random drift from white noise, so a short series is judged under
# a pure random walk only, which makes growth hardest to prove. Both numbers of samples are chosen.
# _LOOKS_FOR_NOISE: counts, and series with rare samples, are judged under all noise models from
# this many samples on.
# _LOOKS_THAT_WANDER: sizes are judged under the pure random walk only up to this many samples. Each
# further sample admits one more noise model, with less drift, so that the verdict does not jump.
_LOOKS_FOR_NOISE, _LOOKS_THAT_WANDER = 10, 6
# A series has rare samples if two consecutive samples are at least this many mean gaps apart.
# Chosen: in an even series, one missing sample makes a distance just below two mean gaps.
_RARE = 2.0
# A saturation is over if at most this share of its height is still to come (after 1.9 time
# constants). Chosen.
OVER = 0.15
# After this many time constants, a warm-up no longer moves the value. Chosen: 1.8 % of the height
# of the warm-up is left.
_TAUS_OF_WARM_UP = 4.0
# If a step during growth lies within this first share of the samples, only the samples after the
# step give the rate. If the step lies later, its height is subtracted from the samples after it,
# and all samples give the rate. Chosen.
_STEP_IN_TIME = 0.7
# Every value has at least this variance, in units of the squared span. A deviation of 0.03 % of the
# span (the square root) is therefore no reason to reject a shape. Chosen.
_EXACT = 1e-7
# With a risk of error below this (10 %), a rise is probably not chance. Growth is only proven at a
# risk of RISK. Chosen.
_DOUBTFUL = 0.1
# Decimal digits to which the time of a sample is rounded, in units of the mean gap between samples.
# Series with equal distances between samples then have exactly equal times, and share one cached
# table of curves (``wandering.design``). Chosen.
_GAP_DIGITS = 9


def _noises(looks: Looks) -> int:
    """Return how many noise models may explain the looks; a single one is a pure random walk."""
    most = max((b - a for a, b in pairwise(looks.times)), default=0.0)
    if looks.integer or most >= _RARE * looks.gap:
        return 1 if len(looks) < _LOOKS_FOR_NOISE else NOISES
    return min(NOISES, max(1, len(looks) - _LOOKS_THAT_WANDER + 1))


class Saturation(NamedTuple):
    """The plateau of a saturation, the generation that reaches 95 % of it, and the share left."""

    value: float
    round: int
    left: float


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
        begun = looks.times[0]
        times = tuple(round((t - begun) / self._gap, _GAP_DIGITS) for t in looks.times)
        self._explanations = Explanations(
            times,
            self._centred(),
            _candidates(self.looks),
            self._least(),
            late=_LATE[looks.integer],
            noises=_noises(self.looks),
        )
        self.best = self._explanations.best
        if self.rises:
            self._explanations.refine()

    def _centred(self) -> list[float]:
        """Return the values minus the first, scaled to a span of 1 so that squares stay finite."""
        first = self.looks.values[0]
        return [(value - first) / self._span for value in self.looks.values]

    def _least(self) -> float:
        return (math.sqrt(self.looks.least_variance) / self._span) ** 2 + _EXACT

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
        t = estimators.quantile(_DOUBTFUL, max(1, freedom - 1))
        doubtful = freedom * math.log1p(t * t / max(1, freedom - 1))
        gained = self.lead["wandering"] + price(freedom, growth.parameters)
        return gained > doubtful * growth.parameters

    def settled(self, growth: Fit) -> int:
        """Return the look from which only growth, and no warm-up or step, moves the value."""
        n, start = len(self.looks), growth.start or 0
        if growth.tau is not None:
            over = self.looks.times[0] + _TAUS_OF_WARM_UP * growth.tau * self._gap
            start = max(start, min(sum(t < over for t in self.looks.times), n // 2))
        if growth.end is not None and growth.end < _STEP_IN_TIME * n:
            start = max(start, growth.end)
        return start

    def grown(self, growth: Fit) -> Looks:
        """Return the looks after the warm-up, without a late step during growth."""
        looks, beside = self.looks, self._beside(growth)
        if beside is None:
            return looks.since(self.settled(growth))
        started = looks.times[growth.start or 0]
        ramp = [max(0.0, t - started) for t in looks.times]
        height = estimators.partial_slope(looks.values, beside, ramp)
        left = [v - height * b for v, b in zip(looks.values, beside, strict=True)]
        return looks.with_values(left).since(self.settled(growth))

    def _beside(self, growth: Fit) -> list[float] | None:
        """Return the curve to fit beside growth and subtract from the looks; None if there is none.

        It is a warm-up or a late step, of height 1.
        """
        begun, n = self.looks.times[0], len(self.looks)
        if growth.tau is not None:
            return [-math.exp(-(t - begun) / (growth.tau * self._gap)) for t in self.looks.times]
        # A step near the end is not subtracted: too few looks follow to show that growth continues.
        if growth.end is None or not _STEP_IN_TIME * n <= growth.end < n - FEWEST_LOOKS:
            return None
        return [float(i >= growth.end) for i in range(n)]

    def is_few_steps(self, growth: Fit) -> bool:
        """Return True if the series rises at a few looks only, and is level between them."""
        grown = self.grown(growth)
        return len(grown) > 3 and staircase.is_few_steps(grown, staircase.steps(grown))

    def slows(self, growth: Fit) -> bool:
        """Return True if the growth slows down, even if no benign shape describes it.

        Growth of fewer than three looks may slow down, so it counts as well.
        """
        grown = self.grown(growth)
        if len(grown) < FEWEST_LOOKS:
            return True
        least = 1.0 - min(_MOST_LOSS, _LOSS * (len(grown) - 2))
        ratio, error = estimators.bend(grown.times, grown.values, grown.least_variance)
        return ratio < least and ratio + _BEND_ERRORS * error < 1.0

    def fades(self, growth: Fit) -> bool:
        """Return True if the latest eighth is significantly below the others' line, and less steep.

        Growth with a few jumps may also fall below that line, but stays as steep as before.
        """
        grown = self.grown(growth)
        late = max(1, len(grown) // 8)
        before, after = grown.of(range(len(grown) - late)), grown.since(len(grown) - late)
        if len(before) < 4:
            return False
        slope, error, mean = estimators.line(before.times, before.values)
        middle = math.fsum(before.times) / len(before)
        ahead = math.fsum(after.times) / late - middle
        energy = math.fsum((t - middle) ** 2 for t in before.times)
        variance = max(error * error * energy, grown.least_variance)
        missing = mean + slope * ahead - math.fsum(after.values) / late
        unsure = variance * (1.0 / late + 1.0 / len(before) + ahead**2 / energy)
        below = missing > estimators.quantile(RISK, len(before) - 2) * math.sqrt(unsure)
        return below and _late_slope(grown) < (1.0 - _MOST_LOSS) * slope

    def new_high(self) -> bool:
        """Return True if the last quarter's mean is above that of every earlier window as long."""
        values, quarter = self.looks.values, max(1, len(self.looks) // 4)
        last = math.fsum(values[-quarter:])
        earlier = range(len(values) - 2 * quarter + 1)
        return all(math.fsum(values[i : i + quarter]) < last for i in earlier)

    def rate(self, fit: Fit) -> tuple[float, tuple[float, float]]:
        """Return the slope since the series settled, with an interval widened for random drift."""
        white = estimators.slope_variance(len(self.looks))
        widening = math.sqrt(max(1.0, 1.0 / fit.model.energy[0] / white))
        return self.grown(fit).rate(widening)

    def detectable(self, fit: Fit, length: int | None = None) -> float:
        """Return the smallest rate per generation that would be accepted under a fit's noise.

        Args:
            fit: the fit whose noise model and variance are assumed.
            length: how many looks the series is assumed to have; its own number if None.
        """
        n = len(self.looks)
        t = estimators.quantile(RISK, max(1, (length or n) - 2))
        scale = self._span if length is None else self._span * _error_share(fit, n, length)
        return t * scale * math.sqrt(fit.variance / fit.model.energy[0]) / self._gap

    def plateau(self) -> Saturation | None:
        """Return the plateau of the best saturation; None if none can be fitted."""
        fit = self.best.get("saturation") or self.best.get("step and saturation")
        if fit is None or fit.tau is None:
            return None
        begun, tau = self.looks.times[0], fit.tau * self._gap
        curve = [1.0 - math.exp(-(t - begun) / tau) for t in self.looks.times]
        mean, level = math.fsum(curve) / len(curve), math.fsum(self.looks.values) / len(curve)
        along = math.fsum(
            (c - mean) * (v - level) for c, v in zip(curve, self.looks.values, strict=True)
        )
        height = along / math.fsum((c - mean) ** 2 for c in curve)
        near = max(NEAR_SHARE * abs(height), self.looks.noise_floor)
        full = tau * math.log(max(1.0, abs(height) / near)) if height > 0.0 else 0.0
        return Saturation(level + height * (1.0 - mean), math.ceil(begun + full), 1.0 - curve[-1])

    def saturates(self, growth: Fit) -> bool:
        """Return True if a saturation fits better than growth, ignoring penalties of parameters."""
        fit, freedom = self.best.get("saturation"), len(self.looks) - 1
        if fit is None:
            return False
        one, other = price(freedom, fit.parameters), price(freedom, growth.parameters)
        return fit.score - one < growth.score - other

    def generations(self, looks: float) -> float:
        """Return the length of ``looks`` mean gaps, in generations."""
        return looks * self._gap


def _late_slope(looks: Looks) -> float:
    """Return the smaller of the slopes of the latest eighth and of the latest quarter."""
    parts = [looks.since(len(looks) - max(FEWEST_LOOKS, len(looks) // share)) for share in (8, 4)]
    return min(estimators.line(part.times, part.values).slope for part in parts)


def _error_share(fit: Fit, n: int, length: int) -> float:
    """Return the error of a slope over ``length`` looks, relative to the error over ``n`` looks.

    With white noise the error falls with the power 3/2 of the length; with a drifting level, with
    the power 1/2.
    """
    white = estimators.slope_variance(n)
    wandering = max(0.0, 1.0 / fit.model.energy[0] - white)
    return math.sqrt((white * (n / length) ** 3 + wandering * n / length) / (white + wandering))


def _candidates(looks: Looks) -> list[int]:
    """Return up to three looks at which the value may have jumped."""
    beyond = looks.beyond()
    largest = sorted(range(len(beyond)), key=lambda i: -abs(beyond[i]))[:2]
    return sorted({_largest_shift(looks.values), *(i + 1 for i in largest)})


def _largest_shift(values: Sequence[float]) -> int:
    """Return the look at which the mean changes most (CUSUM)."""
    n = len(values)
    mean = math.fsum(values) / n
    total, best, at = 0.0, -1.0, 1
    for k in range(1, n):
        total += values[k - 1] - mean
        gain = total * total / (k * (n - k))
        if gain > best:
            best, at = gain, k
    return at
