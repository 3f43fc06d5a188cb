"""Finds where the level of a piecewise constant series changes, and its pieces' common slope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.looks import Looks

# The fewest teeth, or steps of a staircase, whose levels are judged as a series of their own. The
# level of a tooth is its floor, and the level of a step is its tread. Chosen: two more than the
# three values of a trend, because each level is known from a few samples only.
ENOUGH = 5
# The most passes in which cuts (the looks at which the level of a series changes) are refined.
# Chosen: a third pass rarely changes a cut.
PASSES = 3


def shared_rise(looks: Looks, cuts: Sequence[int]) -> tuple[float, float]:
    """Return the common least-squares slope within all pieces, and its standard error."""
    along = energy = squares = 0.0
    for a, b in pairwise((0, *cuts, len(looks))):
        times, values = looks.times[a:b], looks.values[a:b]
        middle, mean = math.fsum(times) / (b - a), math.fsum(values) / (b - a)
        along += math.fsum((t - middle) * (v - mean) for t, v in zip(times, values, strict=True))
        energy += math.fsum((t - middle) ** 2 for t in times)
        squares += math.fsum((v - mean) ** 2 for v in values)
    if energy <= 0.0:
        return 0.0, math.inf
    left = max(0.0, squares - along * along / energy) / max(1, len(looks) - len(cuts) - 2)
    return along / energy, math.sqrt(left / energy)


def level_cuts(values: Sequence[float], variance: float) -> list[int]:
    """Return where the level of a piecewise constant series changes.

    This is optimal partitioning (Jackson et al. 2005). Each cut adds a penalty of 3 log(n) noise
    variances to the residual sum of squares: one log(n) for its level and two for its position
    (modified BIC, Zhang & Siegmund 2007). The search is pruned (PELT, Killick et al. 2012): a
    previous cut that scores worse than a cut at the current position can never become the best.
    """
    n, centre = len(values), values[0]
    sums, squares = [0.0], [0.0]
    for value in values:
        sums.append(sums[-1] + value - centre)
        squares.append(squares[-1] + (value - centre) ** 2)
    variance = max(variance, estimators.ROUNDING * squares[n] / n)
    cost_of_cut = 3.0 * math.log(n) * variance
    best, cut, places = [-cost_of_cut], [0], [0]
    for b in range(1, n + 1):
        total, energy = sums[b], squares[b]
        costs = [
            (best[a] + energy - squares[a] - (total - sums[a]) ** 2 / (b - a), a) for a in places
        ]
        least, a = min(costs)
        best.append(least + cost_of_cut)
        cut.append(a)
        places = [place for cost, place in costs if cost <= best[b]]
        places.append(b)
    cuts: list[int] = []
    while n:
        n = cut[n]
        cuts.append(n)
    return cuts[-2::-1]
