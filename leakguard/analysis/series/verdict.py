"""What kind of series a list of rounds is: the value that ``judge_series`` returns."""

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
    """Where a filling series is predicted to end.

    Attributes:
        value: the predicted final value, in the series' unit.
        round: index (generation) of the round that comes within 5 % of the remaining way (of the
            noise, where that is larger), perhaps beyond the series. None when none can be named.
    """

    value: float
    round: int | None


@dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """What kind of series this is, how sure that is, and what would decide it.

    Attributes:
        shape: the best description; ``flat`` also covers a series that falls.
        growing: ``yes`` when every healthy explanation was rejected, ``no`` when a healthy one
            stands, ``cannot tell`` when these rounds do not decide.
        rate: change per round since ``started`` (of the whole series where nothing grows).
        interval: (low, high) of the rate, 95 %, distribution-free and widened for autocorrelation.
        started: index of the first round whose value shows the growth, or its generation where the
            generations were given; None where nothing grows.
        stopped: the round (generation) after which a series that had grown stayed flat; None where
            it never grew, still does, or that is not known.
        plateau: predicted end of a series that fills; None otherwise.
        noise: standard deviation of what is left of a round's value beside the shape, robust.
        detectable: smallest rate that this length and noise would have shown; infinite when there
            are too few rounds to show any.
        more_rounds: how many more rounds would decide, at the observed rate; None when the verdict
            is decided, or when no reasonable number of rounds would.
        confidence: 0 to 1, of ``growing``; for ``cannot tell`` how likely growth looks.
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
        """Return this verdict on rounds from ``first`` on as one on the whole series."""
        plateau = self.plateau
        if plateau is not None and plateau.round is not None:
            plateau = replace(plateau, round=plateau.round + first)
        started = None if self.started is None else self.started + first
        return replace(self, plateau=plateau, started=started, reason=f"{reason}, {self.reason}")

    def times(self, unit: float) -> SeriesVerdict:
        """Return this verdict on values that are so many times as large."""
        plateau = self.plateau
        return replace(
            self,
            rate=self.rate * unit,
            interval=(self.interval[0] * unit, self.interval[1] * unit),
            plateau=plateau and replace(plateau, value=plateau.value * unit),
            noise=self.noise * unit,
            detectable=self.detectable * unit,
        )
