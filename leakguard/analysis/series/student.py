"""Student's t distribution: tail probabilities and quantiles for few rounds."""

from __future__ import annotations

import math
from functools import lru_cache


def tail(t: float, df: int) -> float:
    """Probability of exceeding ``t`` (one-sided) with ``df`` >= 1 degrees of freedom.

    The finite sums of Abramowitz & Stegun 26.7.3 and 26.7.4, exact for whole degrees of freedom.
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


@lru_cache(maxsize=256)
def quantile(probability: float, df: int) -> float:
    """The ``t`` whose one-sided tail is ``probability`` (between 0 and 0.5), by bisection."""
    low, high = 0.0, 1.0
    while tail(high, df) > probability and high < 1e9:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if tail(middle, df) > probability:
            low = middle
        else:
            high = middle
    return high
