"""The verdict on a series: the value that ``judge_series`` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from leakguard.analysis.facts.reason import Reason

Shape = Literal[
    "growing", "filling", "warm-up", "step", "sawtooth", "transient", "noise", "flat",
]  # fmt: skip
Growing = Literal["yes", "no", "cannot tell"]


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
        plateau: predicted end of a series that fills; None otherwise.
        detectable: the smallest rate that would have been detected at this length and noise;
            infinite if there are too few generations to detect any.
        more_rounds: about how many more generations would decide; None if the verdict is decided.
        confidence: confidence in ``growing``, 0 to 1; for ``cannot tell`` the probability of
            growth. Not calibrated.
        reason: why it grows, what lies around the growth first; empty if growth is not proven.
    """

    shape: Shape
    growing: Growing
    rate: float
    interval: tuple[float, float]
    started: int | None
    plateau: Plateau | None
    detectable: float
    more_rounds: int | None
    confidence: float
    reason: tuple[Reason, ...] = ()

    def within(self, why: Reason) -> SeriesVerdict:
        """Return this verdict on a part of a series as the verdict on the whole series."""
        reason = (why, *self.reason) if self.reason else ()
        return replace(self, reason=reason)

    def times(self, unit: float) -> SeriesVerdict:
        """Return this verdict for values that are larger by the factor ``unit``."""
        plateau = self.plateau
        return replace(
            self,
            rate=self.rate * unit,
            interval=(self.interval[0] * unit, self.interval[1] * unit),
            plateau=plateau and replace(plateau, value=plateau.value * unit),
            detectable=self.detectable * unit,
            reason=tuple(
                why._replace(sizes=tuple(size * unit for size in why.sizes)) for why in self.reason
            ),
        )
