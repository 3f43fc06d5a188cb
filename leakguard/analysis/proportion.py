"""Decides whether two series grow in proportion, from a few looks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.tolerance import FEWEST_LOOKS, OWN_SHARE, WENT_ON_SHARE


def rise_together(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return True if two series gain about the same share of their growth between any two looks.

    A tenth must rise outside of the interval with the largest rise: what rises in one interval
    only would match anything that rises in it.
    """
    if len(one) < FEWEST_LOOKS or one[-1] <= one[0] or other[-1] <= other[0]:
        return False
    return 1 - max(_shares(other)) >= OWN_SHARE and apart(one, other) <= WENT_ON_SHARE


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the distance between two growths: the sum of the differences of their shares.

    0 means equal shares in every interval; the largest distance is 2.
    """
    pairs = zip(_shares(one), _shares(other), strict=True)
    return sum(abs(first - second) for first, second in pairs)


def _shares(values: Sequence[float]) -> list[float]:
    whole = values[-1] - values[0]
    return [(later - before) / whole for before, later in pairwise(values)]
