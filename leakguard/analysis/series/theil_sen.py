"""The Theil-Sen slope: the median of all pairwise slopes, and its distribution-free interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

_LARGEST = 128


def pairwise_slopes(values: Sequence[float]) -> list[float]:
    """Return the slopes between all pairs of rounds, sorted (n(n-1)/2 of them)."""
    slopes: list[float] = []
    for gap in range(1, len(values)):
        slopes.extend([(b - a) / gap for a, b in zip(values, values[gap:], strict=False)])
    slopes.sort()
    return slopes


def rate(values: Sequence[float], inflation: float = 1.0) -> tuple[float, tuple[float, float]]:
    """Return the slope per round and its 95 % interval (Sen 1968, equation 2.6).

    Args:
        values: one value a round, at least two; more than 128 are averaged in blocks first.
        inflation: factor on the interval's width for autocorrelated noise (Hamed & Rao 1998).
    """
    block = -(-len(values) // _LARGEST)
    if block > 1:
        values = block_means(values, block)
    slopes = pairwise_slopes(values)
    n, pairs = len(values), len(slopes)
    spread = 1.96 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    low = max(0, math.floor((pairs - spread) / 2.0))
    high = min(pairs - 1, math.ceil((pairs + spread) / 2.0))
    middle = median(slopes)
    return middle / block, (
        (middle + inflation * (slopes[low] - middle)) / block,
        (middle + inflation * (slopes[high] - middle)) / block,
    )


def median(ordered: Sequence[float]) -> float:
    """Return the median of values that are sorted already."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return 0.5 * (ordered[half - 1] + ordered[half])


def block_means(values: Sequence[float], block: int) -> list[float]:
    """Return means of ``block`` neighbours; an incomplete first block is left out."""
    first = len(values) % block
    return [math.fsum(values[i : i + block]) / block for i in range(first, len(values), block)]


def kendall_score(values: Sequence[float]) -> int:
    """Return the number of rising pairs minus the number of falling ones (Mann 1945)."""
    return sum(
        (b > a) - (b < a)
        for gap in range(1, len(values))
        for a, b in zip(values, values[gap:], strict=False)
    )
