"""Draws a series in a few characters, and reduces a long series to few points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Return one character per value, from the lowest to the highest.

    A series longer than ``width`` is split into parts, each shown by its highest value.
    """
    if not values:
        return ""
    shown = [max(part) for part in parts(values, width)]
    low, high = min(shown), max(shown)
    if high <= low:
        return BARS[0] * len(shown)
    top = len(BARS) - 1
    return "".join(BARS[round((value - low) / (high - low) * top)] for value in shown)


def parts(values: Sequence[float], most: int) -> list[Sequence[float]]:
    """Split ``values`` into at most ``most`` parts of nearly equal length, in order."""
    count = min(most, len(values))
    edges = [i * len(values) // count for i in range(count + 1)]
    return [values[a:b] for a, b in pairwise(edges)]


def extremes(values: Sequence[float], most: int) -> list[int]:
    """Return at most ``most`` positions, in order: the ends and the extremes of each part.

    A spike of one snapshot in a hundred thousand stays visible.
    """
    if len(values) <= most:
        return list(range(len(values)))
    buckets = max((most - 2) // 2, 1)
    edges = [i * len(values) // buckets for i in range(buckets + 1)]
    kept = {0, len(values) - 1}
    for start, stop in pairwise(edges):
        run = range(start, stop)
        kept.update((min(run, key=values.__getitem__), max(run, key=values.__getitem__)))
    return sorted(kept)
