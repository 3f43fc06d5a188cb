"""Where a series changes: jumps, and the round at which growth began."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakguard.analysis.series.noise import differences


def largest_shift(values: Sequence[float]) -> int:
    """Return the round from which on the mean differs most from the mean before (CUSUM)."""
    n = len(values)
    mean = math.fsum(values) / n
    total, best, at = 0.0, -1.0, 1
    for k in range(1, n):
        total += values[k - 1] - mean
        gain = total * total / (k * (n - k))
        if gain > best:
            best, at = gain, k
    return at


def candidates(values: Sequence[float]) -> list[int]:
    """Return up to three rounds at which the value may have jumped."""
    changes = differences(values)
    largest = sorted(range(len(changes)), key=lambda i: -abs(changes[i]))[:2]
    return sorted({largest_shift(values), *(i + 1 for i in largest)})


def growth_start(values: Sequence[float], around: int, reach: int) -> int:
    """Return the round near ``around`` after which a straight line fits best (level before).

    The least-squares broken line with a free level, over starts within ``reach`` rounds.
    """
    n = len(values)
    starts = range(max(0, around - reach), min(n - 3, around + reach) + 1)
    return max(starts, key=lambda start: _explained(values, start))


def _explained(values: Sequence[float], start: int) -> float:
    n, m = len(values), len(values) - start
    centre = m * (m - 1) / (2.0 * n)
    energy = (m - 1) * m * (2 * m - 1) / 6.0 - n * centre * centre
    mean = math.fsum(values) / n
    along = math.fsum(i * (values[start + i] - mean) for i in range(m))
    return along * abs(along) / energy if energy > 0.0 else 0.0
