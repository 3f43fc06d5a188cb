"""How much a series moves beside its trend: robust spread and autocorrelation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series.theil_sen import median

# 1.4826 makes the median absolute deviation estimate a normal standard deviation.
_NORMAL = 1.4826


def mad(values: Sequence[float]) -> float:
    """Return the median absolute deviation, scaled to a normal standard deviation."""
    middle = median(sorted(values))
    return _NORMAL * median(sorted(abs(v - middle) for v in values))


def differences(values: Sequence[float]) -> list[float]:
    """Return the change from each round to the next."""
    return [b - a for a, b in pairwise(values)]


def round_noise(values: Sequence[float]) -> float:
    """Return the standard deviation of a round's value beside any smooth trend, robust.

    Second differences cancel a trend; those of white noise have six times its variance. Less than
    the true spread where the noise is autocorrelated: its slow part passes for trend.
    """
    second = differences(differences(values))
    if not second:
        return 0.0
    return float(_NORMAL * median(sorted(abs(v) for v in second)) / 6.0**0.5)


def without_spikes(values: Sequence[float]) -> list[float]:
    """Return the values with lone outliers replaced by the mean of their neighbours.

    A spike stands out from both neighbours, and these agree: the tip of a sawtooth is no spike. The
    first and the last round are left alone: there a jump cannot be told from a spike.
    """
    spread = max(round_noise(values), 1e-12 * (max(values) - min(values)))
    cleaned = list(values)
    for i in range(1, len(values) - 1):
        before, after = values[i] - values[i - 1], values[i] - values[i + 1]
        least = min(abs(before), abs(after))
        if before * after > 0.0 and least > 5.0 * spread and abs(before - after) < 0.5 * least:
            cleaned[i] = 0.5 * (values[i - 1] + values[i + 1])
    return cleaned
