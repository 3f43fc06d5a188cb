"""Decides whether two series grow in proportion, from a few looks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.tolerance import FEWEST_LOOKS

# An interval is the time between two looks. At least this share of a series' rise must lie outside
# the interval with its largest rise. Chosen: a series that rises in a single interval would match
# any other series that rises in the same interval.
_OUTSIDE = 0.1
# Two growths are proportional if their distance (``apart``) is at most this. The distance is 0 for
# equal shares in every interval, and at most 2. Chosen below 0.2, which is too far apart: one
# series has all of its rise in one interval, the other 0.9 there and 0.1 elsewhere (_OUTSIDE). The
# distance of these two is 0.1 + 0.1.
_SHARES_APART = 0.15


def rise_together(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return True if two series gain about the same share of their growth between any two looks."""
    if len(one) < FEWEST_LOOKS or one[-1] <= one[0] or other[-1] <= other[0]:
        return False
    return 1 - max(_shares(other)) >= _OUTSIDE and apart(one, other) <= _SHARES_APART


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the distance between two growths: the sum of the differences of their shares.

    0 means equal shares in every interval; the largest distance is 2.
    """
    pairs = zip(_shares(one), _shares(other), strict=True)
    return sum(abs(first - second) for first, second in pairs)


def _shares(values: Sequence[float]) -> list[float]:
    whole = values[-1] - values[0]
    return [(later - before) / whole for before, later in pairwise(values)]
