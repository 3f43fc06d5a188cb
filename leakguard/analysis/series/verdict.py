"""The verdict on a series: the value that ``judge_series`` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Shape = Literal[
    "growing", "filling", "warm-up", "step", "sawtooth", "transient", "noise", "flat",
]  # fmt: skip
Growing = Literal["yes", "no", "cannot tell"]

# Bounds of a confidence, from 0 to 1: a single series allows no more certainty. By convention.
LEAST_SURE, MOST_SURE = 0.01, 0.99
# Confidence, from 0 to 1, for rules without a formula for it. Chosen in steps and not calibrated:
# only the order of these values is meaningful.
CERTAIN, CLEAR, FAIR, WEAK = 0.95, 0.9, 0.7, 0.6
# Probability of growth, from 0 to 1, if the verdict is ``cannot tell``. Chosen in steps and not
# calibrated: only the order of these values is meaningful.
EVEN_ODDS, LESS_LIKELY, RESTING, UNLIKELY, NO_SIGN = 0.5, 0.4, 0.3, 0.2, 0.1


@dataclass(frozen=True, slots=True)
class Plateau:
    """The predicted end of a filling series.

    Attributes:
        value: the predicted final value, in the series' unit.
        round: the generation in which at most 5 % of the rise is left (or less than the noise, if
            that is more), perhaps in the future. None if it cannot be predicted.
    """

    value: float
    round: int | None


@dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """The shape of a series, whether it grows, how certain that is, and what would decide it.

    Attributes:
        shape: the best description; ``flat`` includes falling series.
        growing: ``yes`` if every benign explanation was rejected, ``no`` if one was accepted,
            ``cannot tell`` if these generations do not decide.
        rate: change per generation since ``started``, or over the whole series if nothing grows.
        interval: (low, high) of the rate, 95 %, distribution-free and widened for autocorrelation.
        started: the first generation whose value shows the growth (an index if no generations
            were given); None if nothing grows.
        stopped: the generation after which a series that had grown stayed flat; None if the series
            never grew or still grows, or if the generation is unknown.
        plateau: predicted end of a series that fills; None otherwise.
        noise: robust standard deviation of a value around the shape.
        detectable: the smallest rate that would have been detected at this length and noise;
            infinite if there are too few generations to detect any.
        more_rounds: how many more generations would decide, at the observed rate; None if the
            verdict is decided, or if no reasonable number would.
        confidence: confidence in ``growing``, 0 to 1; for ``cannot tell`` the probability of
            growth.
        reason: one sentence with the numbers.
        ruled_out: the other explanations, and why they were rejected.
    """

    shape: Shape
    growing: Growing
    rate: float
    interval: tuple[float, float]
    started: int | None
    plateau: Plateau | None
    noise: float
    detectable: float
    more_rounds: int | None
    confidence: float
    reason: str
    ruled_out: tuple[str, ...] = ()
    stopped: int | None = None

    def after(self, first: int, reason: str) -> SeriesVerdict:
        """Return this verdict on the values from ``first`` on as a verdict on the whole series."""
        plateau = self.plateau
        if plateau is not None and plateau.round is not None:
            plateau = replace(plateau, round=plateau.round + first)
        started = None if self.started is None else self.started + first
        return replace(self, plateau=plateau, started=started, reason=f"{reason}, {self.reason}")

    def times(self, unit: float) -> SeriesVerdict:
        """Return this verdict for values that are larger by the factor ``unit``."""
        plateau = self.plateau
        return replace(
            self,
            rate=self.rate * unit,
            interval=(self.interval[0] * unit, self.interval[1] * unit),
            plateau=plateau and replace(plateau, value=plateau.value * unit),
            noise=self.noise * unit,
            detectable=self.detectable * unit,
        )
