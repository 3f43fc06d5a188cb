"""The series to judge: one value at each of several looks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from leakguard.analysis.facts.reason import Reason
from leakguard.analysis.series import estimators
from leakguard.analysis.series.tolerance import (
    COUNT_VARIANCE,
    MOST_LOOKS,
    OUTSTANDING,
    RISK,
    ROUNDING,
)
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, OWN_SHARE, confidence

# Confidence in a verdict without growth. Chosen, not calibrated: reports only display it.
_CONFIDENCE: dict[Growing, float] = {"no": 0.9, "cannot tell": 0.4}


@dataclass(frozen=True)
class Looks:
    """Values at ascending generations, and how exact they are.

    What several rules ask for is computed once; nobody may change it.

    Attributes:
        times: the generation of each value.
        integer: the values are counts of things: a change of one is real.
        noise_floor: changes of a value below this are not evidence.
    """

    times: Sequence[float]
    values: Sequence[float]
    integer: bool
    noise_floor: float

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def changes(self) -> Sequence[float]:
        """The difference between each value and the previous value."""
        return [b - a for a, b in pairwise(self.values)]

    @cached_property
    def paces(self) -> Sequence[float]:
        """The change per generation since the previous look."""
        gaps = (b - a for a, b in pairwise(self.times))
        return [change / gap for change, gap in zip(self.changes, gaps, strict=True)]

    @cached_property
    def span(self) -> float:
        """Largest value minus smallest."""
        return max(self.values, default=0.0) - min(self.values, default=0.0)

    @property
    def length(self) -> float:
        """Generations from the first look to the last."""
        return self.times[-1] - self.times[0] if self.times else 0.0

    @property
    def gap(self) -> float:
        """Mean distance between looks, in generations."""
        return self.length / (len(self) - 1) if len(self) > 1 else 1.0

    @property
    def least_variance(self) -> float:
        """The lower bound of a value's variance, from the type (count) and the noise floor.

        The floor stands for two standard deviations.
        """
        of_a_count = COUNT_VARIANCE if self.integer else 0.0
        return of_a_count + (0.5 * self.noise_floor) ** 2

    def of(self, places: Iterable[int]) -> Looks:
        """Return the looks at the given indexes."""
        chosen = list(places)
        return self.with_values([self.values[i] for i in chosen], [self.times[i] for i in chosen])

    def since(self, first: int) -> Looks:
        """Return the looks from ``first`` on."""
        return self.with_values(self.values[first:], self.times[first:])

    def with_values(self, values: Sequence[float], times: Sequence[float] | None = None) -> Looks:
        """Return the series with other values, at the same times unless ``times`` is given."""
        at = self.times if times is None else times
        return Looks(at, values, self.integer, self.noise_floor)

    def in_blocks(self, most: int = MOST_LOOKS) -> Looks:
        """Return at most ``most`` looks: the means of equal blocks of neighbours."""
        block = -(-len(self) // most)
        if block == 1:
            return self
        means = estimators.block_means
        return Looks(means(self.times, block), means(self.values, block), False, self.noise_floor)

    def without_spikes(self) -> Looks:
        """Return the looks with lone outliers replaced by the mean of their neighbours.

        A spike stands out from both neighbours, and the neighbours nearly agree; the tip of a
        sawtooth is therefore no spike. The first and the last value are kept, because a jump cannot
        be distinguished from a spike there.
        """
        least = OUTSTANDING * max(self.spread, ROUNDING * self.span)
        cleaned = list(self.values)
        for i in range(1, len(self) - 1):
            before, after = self.values[i] - self.values[i - 1], self.values[i] - self.values[i + 1]
            height = min(abs(before), abs(after))
            if before * after > 0.0 and height > least and abs(before - after) < MAJORITY * height:
                cleaned[i] = 0.5 * (self.values[i - 1] + self.values[i + 1])
        return self.with_values(cleaned)

    @cached_property
    def spread(self) -> float:
        """The robust standard deviation of a value around any smooth trend."""
        return min(self.span, estimators.noise(self.times, self.values))

    def beyond(self) -> list[float]:
        """Return by how much each change differs from the usual change over the same distance."""
        gaps = [b - a for a, b in pairwise(self.times)]
        usual = estimators.median(sorted(self.paces))
        return [c - usual * g for c, g in zip(self.changes, gaps, strict=True)]

    def jumps(self, share: float = OWN_SHARE) -> list[tuple[int, float]]:
        """Return the looks at which the value jumped, and by how much beyond the usual change.

        Args:
            share: the least share of the span that makes a jump.
        """
        if len(self) < FEWEST_LOOKS:
            return []
        beyond = self.beyond()
        least = max(OUTSTANDING * estimators.spread(beyond), share * self.span, self.noise_floor)
        least = max(least, ROUNDING * self.span)
        return [(i, height) for i, height in enumerate(beyond, 1) if abs(height) >= least > 0.0]

    def verdict(
        self,
        shape: Shape,
        growing: Growing,
        why: Reason | None = None,
        *,
        started: float | None = None,
        plateau: Plateau | None = None,
        detectable: float | None = None,
        more_rounds: float | None = None,
        measured: tuple[float, tuple[float, float]] | None = None,
    ) -> SeriesVerdict:
        """Return a verdict; ``measured`` replaces the rate from the slopes if a better is known."""
        rate, interval = measured or self.rate()
        if detectable is None:
            n = len(self)
            error = self.spread * math.sqrt(estimators.slope_variance(n)) / self.gap if n else 0.0
            least = estimators.quantile(RISK, max(1, n - 2)) * error
            detectable = max(least, self.noise_floor / max(1.0, self.length))
        if more_rounds is None:
            missing = FEWEST_LOOKS - len(self)
            more_rounds = self.gap * (missing if missing > 0 else max(2, len(self) // 4))
        return SeriesVerdict(
            shape=shape,
            growing=growing,
            rate=rate,
            interval=interval,
            started=None if started is None else math.ceil(started),
            plateau=plateau,
            detectable=detectable if len(self) >= FEWEST_LOOKS else math.inf,
            more_rounds=max(1, math.ceil(more_rounds)) if growing == "cannot tell" else None,
            confidence=_CONFIDENCE.get(growing, confidence(len(self) - 1)),
            reason=() if why is None else (why,),
        )

    def rate(self, inflation: float = 1.0) -> tuple[float, tuple[float, float]]:
        """Return the change per generation with its interval; 0 for fewer than two values."""
        if len(self) < 2 or self.span == 0.0:
            return 0.0, (0.0, 0.0)
        return estimators.rate(self.values, self.times, inflation)


def checked(
    values: Sequence[float], at: Sequence[float] | None, noise_floor: float, warmup: int
) -> tuple[list[float], list[float]]:
    """Return the generations in order, and their values; raise ValueError for unusable ones."""
    series = [float(v) for v in values]
    if not all(map(math.isfinite, series)):
        bad = next(i for i, v in enumerate(series) if not math.isfinite(v))
        raise ValueError(f"round {bad} is {series[bad]}: leave out rounds that were not measured")
    if not (math.isfinite(noise_floor) and noise_floor >= 0.0):
        raise ValueError(f"noise_floor is {noise_floor}: give a size of 0 or more")
    if warmup < 0:
        raise ValueError(f"warmup is {warmup}: give a number of rounds of 0 or more")
    if at is None:
        return list(map(float, range(len(series)))), series
    if len(at) != len(series):
        raise ValueError(f"{len(series)} values at {len(at)} generations: give one for each")
    order = sorted(range(len(at)), key=at.__getitem__)
    times = [float(at[i]) for i in order]
    if not all(map(math.isfinite, times)) or any(a == b for a, b in pairwise(times)):
        raise ValueError("generations are not finite or not different: give each value its own")
    return times, [series[i] for i in order]


def unit_of(series: Sequence[float]) -> float:
    """Return the unit to divide by: 1, or for extreme numbers a power of two near their peak."""
    exponent = math.frexp(max(map(abs, series), default=0.0))[1]
    # Squares of the others and their products neither overflow nor underflow.
    return 1.0 if abs(exponent) < sys.float_info.max_exp // 5 else math.ldexp(1.0, exponent - 1)
