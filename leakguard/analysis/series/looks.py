"""The series to judge: one value at each of several looks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from leakguard.analysis.facts.reason import Reason
from leakguard.analysis.series import estimators
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, OWN_SHARE

# A spike or a jump of this many standard deviations stands out: by chance once in two million
# samples. Worth: halved 1 of 12, doubled 3.
OUTSTANDING = 5.0
# A rest must last this many times as long as the longest pause before it, and a last rise this many
# times as long as the longest tooth. Chosen. Worth: halved 1 of 12, doubled 0.
OUTLIVES = 2.0
# The least variance that is assumed for a count. Chosen so that few small rises may be chance:
# three rises by 1 have a risk of error of 0.036, which is not accepted. Five rises by 1 have a risk
# of 0.0037, which is accepted as growth (``explanations.RISK`` is 0.004).
# Worth: halved 0, doubled 1.
_COUNT_VARIANCE = 0.08
# A noise floor stands for two standard deviations, so a quarter of its square is the variance.
# Worth: halved 1 of 12, doubled 0.
_FLOOR_VARIANCE = 0.25
# The smallest slope that would have been detected, in standard errors of the slope. Chosen above
# the 2.7 standard errors that a t test with many samples and a risk of 0.004 requires.
# Worth: halved 0, doubled 0.
_SEEN = 4.0
# Confidence in growth that n changes show is 1 - 0.8 / n: 0.6 for two changes, 0.89 for seven. The
# confidence in other verdicts is fixed. Chosen, not calibrated: reports only display it.
_MISSING = 0.8
_CONFIDENCE: dict[Growing, float] = {"no": 0.9, "cannot tell": 0.4}
# Between these values, squares and their products neither overflow nor underflow.
# Worth: _SMALLEST_SQUARED halved 0, doubled 0; _LARGEST_SQUARED halved 0, doubled 0.
_SMALLEST_SQUARED, _LARGEST_SQUARED = 1e-60, 1e60


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
        """The lower bound of a value's variance, from the noise floor and the type (count)."""
        of_a_count = _COUNT_VARIANCE if self.integer else 0.0
        return of_a_count + _FLOOR_VARIANCE * self.noise_floor**2

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

    def in_blocks(self, most: int = estimators.MOST_LOOKS) -> Looks:
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
        least = OUTSTANDING * max(self.spread, estimators.ROUNDING * self.span)
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
        least = max(least, estimators.ROUNDING * self.span)
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
            detectable = max(_SEEN * error, self.noise_floor / max(1.0, self.length))
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
            confidence=_CONFIDENCE.get(growing, 1.0 - _MISSING / max(1, len(self) - 1)),
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
    peak = max(map(abs, series), default=0.0)
    if peak == 0.0 or _SMALLEST_SQUARED < peak < _LARGEST_SQUARED:
        return 1.0
    return math.ldexp(1.0, math.frexp(peak)[1] - 1)
