"""Levels of a piecewise constant series: where they change, a few events, an even staircase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.tolerance import (
    CLOSER,
    ENOUGH,
    LITTLE,
    MAY_BE_CHANCE,
    ROUNDING,
    STANDARD_ERRORS,
)
from leakguard.analysis.tolerance import FEWEST_LOOKS, PLURALITY


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
    variance = max(variance, ROUNDING * squares[n] / n)
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


def ends(places: Sequence[int]) -> list[int]:
    """Return the last index of each run of consecutive indexes."""
    several = set(places)
    return [place for place in places if place + 1 not in several]


def is_few_steps(looks: Looks) -> bool:
    """Return True if a series is level between a few cuts, though it rises as a whole."""
    cuts = _steps(looks)
    if not 0 < len(cuts) <= MAY_BE_CHANCE:
        return False
    slope, _, mean = estimators.line(looks.times, looks.values)
    within, error = shared_rise(looks, cuts)
    if within >= PLURALITY * slope or within + STANDARD_ERRORS * error >= slope:
        return False
    pieces = zip(pairwise((0, *cuts, len(looks))), _levels(looks, cuts), strict=True)
    around_levels = math.fsum((v - m) ** 2 for (a, b), m in pieces for v in looks.values[a:b])
    middle = math.fsum(looks.times) / len(looks)
    rows = zip(looks.times, looks.values, strict=True)
    around_a_line = math.fsum((v - mean - slope * (t - middle)) ** 2 for t, v in rows)
    return CLOSER * around_levels < around_a_line


def treads(looks: Looks) -> Looks | None:
    """Return the levels of an even staircase that continues to the end; None for other series."""
    whole = _evenly(looks, _whole(looks, _steps(looks)))
    if len(whole) < ENOUGH:
        return None
    before, *levels = _levels(looks, whole)
    rises = sorted(b - a for a, b in pairwise((before, *levels)))
    # If fewer than five steps make nearly all of the gain, they are single events.
    lone = math.fsum(rises[: 1 - ENOUGH]) < LITTLE * math.fsum(rises)
    if lone or any(after <= before for before, after in pairwise(levels)):
        return None
    return looks.with_values(levels, [looks.times[i] for i in whole])


def _steps(looks: Looks) -> list[int]:
    """Return the looks at which a piecewise constant series steps up or down."""
    return level_cuts(looks.values, estimators.value_variance(looks.changes))


def _levels(looks: Looks, cuts: Sequence[int]) -> list[float]:
    """Return the mean before the first cut and the mean after each cut."""
    pieces = pairwise((0, *cuts, len(looks)))
    return [math.fsum(looks.values[a:b]) / (b - a) for a, b in pieces]


def _whole(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return one cut per real step: cuts at neighbouring looks are one step."""
    whole: list[int] = []
    begun = 0
    for i, cut in enumerate(cuts, 1):
        if i == len(cuts) or cuts[i] > cut + 1:
            whole += cuts[begun:i] if i - begun > FEWEST_LOOKS else [cut]
            begun = i
    rises = [b - a for a, b in pairwise(_levels(looks, whole))]
    return [c for c, rise in zip(whole, rises, strict=True) if abs(rise) > looks.noise_floor]


def _evenly(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return the latest cuts without a long wait between them; empty if there are too few.

    Earlier cuts may be single events. If any are left out, the staircase must have at least ten
    steps.
    """
    for first in range(len(cuts)):
        begun = [looks.times[i] for i in cuts[first:]]
        waits = [b - a for a, b in pairwise((*begun, looks.times[-1]))]
        if ENOUGH * max(waits) <= looks.times[-1] - begun[0] + waits[0]:
            return list(cuts[first:]) if not first or len(begun) >= 2 * ENOUGH else []
    return []
