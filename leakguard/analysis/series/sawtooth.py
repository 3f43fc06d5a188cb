"""Teeth: a series that rises steadily and falls back at once, as a lazy collector makes it.

Within a tooth the value rises by ``b + g`` a round: growth ``b`` and garbage ``g``. A drop takes
the garbage back. So without the common slope every tooth is level, and the levels fall by ``g`` for
each round between the starts of two teeth: that is how garbage and growth are told apart.
A staircase is the same with the signs turned: nothing within a tread, everything at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from leakguard.analysis.series.noise import differences, mad
from leakguard.analysis.series.theil_sen import median

# A jump is a change beyond this many deviations of the changes.
_JUMP = 4.0
_FEWEST_DROPS = 2
_PASSES = 5
# Fewer steps than this are events, not a staircase.
_FEWEST_STEPS = 6
_UNEVEN = 0.2
# A series that falls in steps is no sawtooth: teeth regain at least this share of what they lose.
_REGAINED = 0.5


@dataclass(frozen=True, slots=True)
class Teeth:
    """A regular part of a series that is not its trend.

    Attributes:
        starts: rounds at which a tooth (a tread) starts, without the first.
        slope: what a tooth gains a round and gives back at its end; negative for a staircase.
        levelled: the series without it.
    """

    starts: list[int]
    slope: float
    levelled: list[float]

    @property
    def falls(self) -> bool:
        """True for a sawtooth, False for a staircase."""
        return self.slope > 0.0


def find_teeth(values: Sequence[float]) -> Teeth | None:
    """Return the sawtooth or the even staircase in a series, None where there is neither."""
    changes = differences(values)
    usual = median(sorted(changes))
    least = max(_JUMP * mad(changes), 0.05 * (max(values) - min(values)))
    drops = [i + 1 for i, change in enumerate(changes) if change < -least]
    rises = [i + 1 for i, change in enumerate(changes) if change > usual + least]
    if len(drops) >= _FEWEST_DROPS and 4 * len(rises) <= len(drops):
        return _sawtooth(values, drops)
    if len(rises) >= _FEWEST_STEPS and 4 * len(drops) <= len(rises) and _even(rises, len(values)):
        return _levelled(values, rises)
    return None


def _even(steps: Sequence[int], n: int) -> bool:
    gaps = [b - a for a, b in pairwise(steps)]
    mean = math.fsum(gaps) / len(gaps)
    deviation = math.sqrt(math.fsum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    return deviation <= _UNEVEN * mean and n - steps[-1] <= 1.6 * mean


def even_rises(values: Sequence[float]) -> int:
    """Return how many jumps at even distances a series has, all upwards; 0 for other series."""
    changes = differences(values)
    least = max(_JUMP * mad(changes), 0.05 * (max(values) - min(values)))
    jumps = [i + 1 for i, change in enumerate(changes) if abs(change) > least]
    if len(jumps) < 2 or any(changes[i - 1] < 0.0 for i in jumps):
        return 0
    return len(jumps) if _even(jumps, len(values)) else 0


def _sawtooth(values: Sequence[float], drops: list[int]) -> Teeth | None:
    """Find the drops that noise hides, by cutting the series without its slope into levels."""
    for _ in range(_PASSES):
        rise = _slope_within(values, drops)
        flat = [value - rise * t for t, value in enumerate(values)]
        cuts = level_cuts(flat)
        means = _means(flat, cuts)
        found = [cut for cut, (a, b) in zip(cuts, pairwise(means), strict=True) if b < a]
        if len(found) < _FEWEST_DROPS:
            return None
        if found == drops:
            break
        drops = found
    return _levelled(values, drops)


def _levelled(values: Sequence[float], starts: list[int]) -> Teeth | None:
    rise = _slope_within(values, starts)
    flat = [value - rise * t for t, value in enumerate(values)]
    bounds = [0, *starts, len(values)]
    lengths = [b - a for a, b in pairwise(bounds)]
    means = _means(flat, starts)
    slope = -_weighted_slope(starts, means[1:], lengths[1:])
    if slope == 0.0 or (slope > 0.0 and rise < _REGAINED * slope):
        return None
    # The first tooth began where its level says, within the longest tooth before the series.
    origin = math.fsum(m + slope * s for m, s in zip(means[1:], starts, strict=True)) / len(starts)
    begun = min(max(lengths), max(0.0, (means[0] - origin) / slope))
    ages = _ages(len(values), starts, begun)
    level = [value - slope * age for value, age in zip(values, ages, strict=True)]
    return Teeth(starts, slope, level)


def _slope_within(values: Sequence[float], starts: Sequence[int]) -> float:
    """Return the least-squares slope that all teeth share."""
    shared = spread = 0.0
    for a, b in pairwise((0, *starts, len(values))):
        middle = 0.5 * (b - a - 1)
        mean = math.fsum(values[a:b]) / (b - a)
        shared += math.fsum((t - middle) * (values[a + t] - mean) for t in range(b - a))
        spread += math.fsum((t - middle) ** 2 for t in range(b - a))
    return shared / spread if spread > 0.0 else 0.0


def _means(values: Sequence[float], cuts: Sequence[int]) -> list[float]:
    return [math.fsum(values[a:b]) / (b - a) for a, b in pairwise((0, *cuts, len(values)))]


def _weighted_slope(
    places: Sequence[float], values: Sequence[float], weights: Sequence[float]
) -> float:
    total = math.fsum(weights)
    centre = math.fsum(w * x for w, x in zip(weights, places, strict=True)) / total
    mean = math.fsum(w * y for w, y in zip(weights, values, strict=True)) / total
    rows = list(zip(weights, places, values, strict=True))
    spread = math.fsum(w * (x - centre) ** 2 for w, x, _ in rows)
    return math.fsum(w * (x - centre) * (y - mean) for w, x, y in rows) / spread if spread else 0.0


def _ages(n: int, starts: Sequence[int], begun: float) -> list[float]:
    """Return the rounds since the latest start; the first tooth is ``begun`` rounds old."""
    fresh = set(starts)
    ages: list[float] = []
    age = begun
    for t in range(n):
        age = 0.0 if t in fresh else age
        ages.append(age)
        age += 1.0
    return ages


def level_cuts(values: Sequence[float]) -> list[int]:
    """Return where a series that is level in pieces changes its level.

    Optimal partitioning (Jackson et al. 2005): least squares plus 3 log(n) noise variances a cut.
    """
    n = len(values)
    centre = values[0]
    sums, squares = [0.0], [0.0]
    for value in values:
        sums.append(sums[-1] + value - centre)
        squares.append(squares[-1] + (value - centre) ** 2)
    variance = max(0.5 * mad(differences(values)) ** 2, 1e-9 * squares[n] / n)
    price = 3.0 * math.log(n) * variance
    best, cut = [-price], [0]
    for b in range(1, n + 1):
        total, energy = sums[b], squares[b]
        cost, a = min(
            (best[a] + price + energy - squares[a] - (total - sums[a]) ** 2 / (b - a), a)
            for a in range(b)
        )
        best.append(cost)
        cut.append(a)
    cuts: list[int] = []
    while n:
        n = cut[n]
        cuts.append(n)
    return cuts[-2::-1]
