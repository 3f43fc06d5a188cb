"""The verdict on a series: the value that ``judge_series`` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Shape = Literal[
    "growing", "filling", "warm-up", "step", "sawtooth", "transient", "noise", "flat",
]  # fmt: skip
Growing = Literal["yes", "no", "cannot tell"]

# Bounds of a confidence, from 0 to 1: one series alone allows no more certainty. By convention.
LEAST_SURE, MOST_SURE = 0.01, 0.99
# Confidence, from 0 to 1, where no formula gives it. Chosen in steps and not calibrated: only their
# order means something.
CERTAIN, CLEAR, FAIR, WEAK = 0.95, 0.9, 0.7, 0.6
# Probability of growth, from 0 to 1, if the answer is open. Chosen in the same way.
EVEN_ODDS, LESS_LIKELY, RESTING, UNLIKELY, NO_SIGN = 0.5, 0.4, 0.3, 0.2, 0.1


@dataclass(frozen=True, slots=True)
class Plateau:
    """The predicted end of a filling series.

    Attributes:
        value: the predicted final value, in the series' unit.
        round: the generation in which it comes within 5 % of the remaining way (or within the
            noise, if that is more), perhaps in the future. None if it cannot be predicted.
    """

    value: float
    round: int | None


@dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """The kind of a series, how sure that is, and what would decide it.

    Attributes:
        shape: the best description; ``flat`` includes falling series.
        growing: ``yes`` if every benign explanation was rejected, ``no`` if one was accepted,
            ``cannot tell`` if these generations do not decide.
        rate: change per generation since ``started`` (of the whole series if nothing grows).
        interval: (low, high) of the rate, 95 %, distribution-free and widened for autocorrelation.
        started: the first generation whose value shows the growth (an index if no generations
            were given); None if nothing grows.
        stopped: the generation after which a series that had grown stayed flat; None if it
            never grew, still grows, or if that is unknown.
        plateau: predicted end of a series that fills; None otherwise.
        noise: robust standard deviation of a value around the shape.
        detectable: smallest rate that this length and noise would have shown; infinite if there
            are too few generations to show any.
        more_rounds: how many more generations would decide, at the observed rate; None if the
            verdict is decided, or if no reasonable number would.
        confidence: 0 to 1, of ``growing``; for ``cannot tell`` the probability of growth.
        reason: one sentence with the numbers.
        ruled_out: the other explanations, and why they do not hold.
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
        """Return this verdict, on the values from ``first`` on, for the whole series."""
        plateau = self.plateau
        if plateau is not None and plateau.round is not None:
            plateau = replace(plateau, round=plateau.round + first)
        started = None if self.started is None else self.started + first
        return replace(self, plateau=plateau, started=started, reason=f"{reason}, {self.reason}")

    def times(self, unit: float) -> SeriesVerdict:
        """Return this verdict for values that are larger by a factor."""
        plateau = self.plateau
        return replace(
            self,
            rate=self.rate * unit,
            interval=(self.interval[0] * unit, self.interval[1] * unit),
            plateau=plateau and replace(plateau, value=plateau.value * unit),
            noise=self.noise * unit,
            detectable=self.detectable * unit,
        )
