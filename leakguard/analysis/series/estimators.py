"""Robust and distribution-free estimators: median, Theil-Sen slope, straight line, Student's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from statistics import NormalDist
from typing import NamedTuple

from leakguard.analysis.series.tolerance import MOST_LOOKS, ROUNDING

# Derived: the median absolute deviation times 1.4826 estimates the standard deviation of normal
# noise, and 95 % of a normal distribution lie within 1.96 standard deviations.
_NORMAL, _BETWEEN_95 = 1.0 / NormalDist().inv_cdf(0.75), NormalDist().inv_cdf(0.975)


def median(ordered: Sequence[float]) -> float:
    """Return the median of sorted values."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return 0.5 * (ordered[half - 1] + ordered[half])


def spread(values: Sequence[float]) -> float:
    """Return a robust standard deviation: the scaled median absolute deviation."""
    middle = median(sorted(values))
    return _NORMAL * median(sorted(abs(v - middle) for v in values))


def value_variance(changes: Sequence[float]) -> float:
    """Return the robust variance of a value, which is half the variance of the changes."""
    return 0.5 * spread(changes) ** 2


def slope_variance(n: int) -> float:
    """Return the variance of a least-squares slope over ``n`` looks under noise of variance 1.

    For looks at even distances of 1 it is 12 / (n^3 - n); 12 / n^3 is close enough for these uses.
    """
    return 12.0 / n**3


def noise(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the robust standard deviation of a value around any smooth trend.

    Each value is compared with the straight line between its neighbours, which removes a trend.
    With autocorrelated noise the result is too small, because the slow part of the noise counts as
    trend.
    """
    left = []
    for i in range(1, len(values) - 1):
        share = (times[i] - times[i - 1]) / (times[i + 1] - times[i - 1])
        between = values[i - 1] + share * (values[i + 1] - values[i - 1])
        left.append(abs(values[i] - between) / math.sqrt(1.0 + share**2 + (1.0 - share) ** 2))
    return _NORMAL * median(sorted(left)) if left else 0.0


class FittedLine(NamedTuple):
    """A least-squares line: slope per generation, its standard error, mean of the values."""

    slope: float
    error: float
    mean: float


def line(times: Sequence[float], values: Sequence[float]) -> FittedLine:
    """Return the least-squares line through at least three values.

    The error is widened if the residuals of neighbours are correlated (lag-1 correlation).
    """
    n = len(times)
    middle, mean = math.fsum(times) / n, math.fsum(values) / n
    before, above = [t - middle for t in times], [v - mean for v in values]
    energy = math.fsum(map(mul, before, before))
    slope = math.fsum(map(mul, before, above)) / energy
    rest = [v - slope * t for t, v in zip(before, above, strict=True)]
    squares = math.fsum(map(mul, rest, rest))
    alike = math.fsum(map(mul, rest, rest[1:])) / squares if squares > 0.0 else 0.0
    alike = max(0.0, alike)
    error = math.sqrt(squares / (n - 2) / energy * (1.0 + alike) / (1.0 - alike))
    return FittedLine(slope, error, mean)


def bend(
    times: Sequence[float], values: Sequence[float], least: float = 0.0
) -> tuple[float, float]:
    """Return the last slope of a fitted parabola divided by its first slope, and the error.

    Above 1 the growth accelerates, below 1 it slows down. If the first slope is not positive, the
    ratio is infinite for a positive last slope, and 0 otherwise. ``least`` is the lower bound of a
    value's variance.
    """
    n, middle = len(times), math.fsum(times) / len(times)
    mean = math.fsum(values) / n
    place = [t - middle for t in times]
    second = math.fsum(x * x for x in place) / n
    skew = math.fsum(x**3 for x in place) / (n * second)
    bow = [x * x - skew * x - second for x in place]
    slope = math.fsum(x * (v - mean) for x, v in zip(place, values, strict=True)) / (n * second)
    bows = math.fsum(b * b for b in bow)
    curve = math.fsum(b * (v - mean) for b, v in zip(bow, values, strict=True)) / bows
    left = math.fsum(
        (v - mean - slope * x - curve * b) ** 2 for x, b, v in zip(place, bow, values, strict=True)
    )
    variance = max(left / (n - 3) if n > 3 else 0.0, least)
    # The slope of the parabola in the middle of the first and of the last gap.
    begin, end = place[0] + place[1] - skew, place[-1] + place[-2] - skew
    first, last = slope + curve * begin, slope + curve * end
    # A first slope close to zero counts as zero, because the ratio would overflow.
    if first <= ROUNDING * abs(last):
        return (math.inf if last > 0.0 else 0.0), 0.0
    ratio = last / first
    # The derivatives of the ratio by the slope and by the curvature, each times the first slope.
    by_slope, by_curve = 1.0 - ratio, end - begin * ratio
    moves = math.hypot(by_slope / math.sqrt(n * second), by_curve / math.sqrt(bows))
    return ratio, math.sqrt(variance) * moves / first


def partial_slope(values: Sequence[float], on: Sequence[float], beside: Sequence[float]) -> float:
    """Return the least-squares coefficient of ``on``, fitted with ``beside`` and a constant."""
    slope, _, mean = line(beside, on)
    middle = math.fsum(beside) / len(beside)
    rest = [o - mean - slope * (b - middle) for o, b in zip(on, beside, strict=True)]
    energy = math.fsum(r * r for r in rest)
    return math.fsum(map(mul, rest, values)) / energy if energy > 0.0 else 0.0


def rate(
    values: Sequence[float], at: Sequence[float] | None = None, inflation: float = 1.0
) -> tuple[float, tuple[float, float]]:
    """Return the Theil-Sen slope per generation and its 95 % interval (Sen 1968, equation 2.6).

    Args:
        values: at least two; more than ``MOST_LOOKS`` are averaged in blocks first.
        at: the generation of each value, ascending; consecutive generations if None.
        inflation: factor on the interval's width for autocorrelated noise (Hamed & Rao 1998).
    """
    times = list(range(len(values))) if at is None else at
    block = -(-len(values) // MOST_LOOKS)
    if block > 1:
        times, values = block_means(times, block), block_means(values, block)
    slopes = pairwise_slopes(times, values)
    n, pairs = len(values), len(slopes)
    width = _BETWEEN_95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    low = max(0, math.floor((pairs - width) / 2.0))
    high = min(pairs - 1, math.ceil((pairs + width) / 2.0))
    middle = median(slopes)
    below, above = slopes[low] - middle, slopes[high] - middle
    return middle, (middle + inflation * below, middle + inflation * above)


def pairwise_slopes(times: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return the slopes between all pairs of values, sorted (n(n-1)/2 of them)."""
    slopes: list[float] = []
    for gap in range(1, len(values)):
        rises = zip(times, times[gap:], values, values[gap:], strict=False)
        slopes.extend([(b - a) / (later - sooner) for sooner, later, a, b in rises])
    slopes.sort()
    return slopes


def block_means(values: Sequence[float], block: int) -> list[float]:
    """Return means of blocks of ``block`` neighbours; an incomplete first block is left out."""
    first = len(values) % block
    return [math.fsum(values[i : i + block]) / block for i in range(first, len(values), block)]


def tail(t: float, df: int) -> float:
    """Probability that Student's t exceeds ``t`` (one-sided) with ``df`` >= 1 degrees of freedom.

    Uses the finite sums of Abramowitz & Stegun 26.7.3 and 26.7.4, exact for whole degrees of
    freedom.
    """
    if math.isinf(t):
        return 0.0 if t > 0 else 1.0
    angle = math.atan2(t, math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if df % 2 else 1.0
    total = term if df > 1 else 0.0
    for k in range(3 if df % 2 else 2, df - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = 2.0 / math.pi * (angle + sine * total) if df % 2 else sine * total
    return min(1.0, max(0.0, 0.5 * (1.0 - inside)))


@lru_cache(maxsize=1024)  # a few risks for each number of looks up to 128
def quantile(probability: float, df: int) -> float:
    """Return the ``t`` whose one-sided tail is ``probability`` (0 to 0.5), by bisection."""
    low, high = 0.0, 1.0
    while tail(high, df) > probability:
        high *= 2.0
    while high - low > ROUNDING * high:
        middle = 0.5 * (low + high)
        if tail(middle, df) > probability:
            low = middle
        else:
            high = middle
    return high
