"""Levels of a piecewise constant series: where they change, a few events, an even staircase."""

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
# The longest wait for a step may take this share of the length of a staircase. Derived: the fewest
# even steps that form a series, five, take a fifth each.
_LONGEST_WAIT = 1.0 / ENOUGH
# The most steps that may be events such as imports. More steps are a staircase, and a staircase
# leaks. Chosen.
_EVENTS = 6
# Without its four largest steps, a staircase must still rise by at least this share of its whole
# rise. Otherwise the rise is a few single events. Chosen a little below one fifth, to allow for
# noise: without four of five equal steps, one fifth of the rise is left.
_BESIDE_LARGEST = 0.15
# The most cuts (changes of level) at consecutive looks that count as one step. A long series is
# averaged in blocks of neighbours, and the mean of a block within a step adds a cut. More cuts at
# consecutive looks are separate steps with short treads. Chosen.
_CUTS_OF_A_STEP = 3
# The treads of a staircase are level if their common slope meets two conditions. A straight line
# meets neither, because it rises as steeply between any cuts as over its whole length. Both limits
# are chosen.
# _LEVEL_SHARE: the common slope is below this share of the slope of the whole series.
# _STANDARD_ERRORS: the common slope plus this many of its standard errors is below the slope of the
# whole series.
_LEVEL_SHARE, _STANDARD_ERRORS = 1.0 / 3.0, 3.0
# Levels between cuts must fit a series better than a straight line does, by this factor in the
# residual sum of squares. Measured on a dozen looks: up to 1.5 for noise, because the cuts are
# chosen to fit the noise, and 3 for three even steps of five standard deviations.
_CLOSER = 1.6


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


def ends(places: Sequence[int]) -> list[int]:
    """Return the last index of each run of consecutive indexes."""
    several = set(places)
    return [place for place in places if place + 1 not in several]


def is_few_steps(looks: Looks, cuts: Sequence[int]) -> bool:
    """Return True if a series is level between a few cuts, though it rises as a whole."""
    if not 0 < len(cuts) <= _EVENTS:
        return False
    slope = estimators.line(looks.times, looks.values).slope
    within, error = shared_rise(looks, cuts)
    level = within < _LEVEL_SHARE * slope and within + _STANDARD_ERRORS * error < slope
    return level and _CLOSER * _around_levels(looks, cuts) < _around_a_line(looks)


def _around_levels(looks: Looks, cuts: Sequence[int]) -> float:
    """Return the residual sum of squares around the levels between cuts."""
    pieces = [looks.values[a:b] for a, b in pairwise((0, *cuts, len(looks)))]
    means = [math.fsum(piece) / len(piece) for piece in pieces]
    return math.fsum((v - m) ** 2 for p, m in zip(pieces, means, strict=True) for v in p)


def _around_a_line(looks: Looks) -> float:
    """Return the residual sum of squares around a straight line."""
    slope, _, mean = estimators.line(looks.times, looks.values)
    middle = math.fsum(looks.times) / len(looks)
    rows = zip(looks.times, looks.values, strict=True)
    return math.fsum((v - mean - slope * (t - middle)) ** 2 for t, v in rows)


def steps(looks: Looks) -> list[int]:
    """Return the looks at which a piecewise constant series steps up or down."""
    return level_cuts(looks.values, estimators.value_variance(looks.changes))


def treads(looks: Looks, cuts: Sequence[int]) -> Looks | None:
    """Return the levels of an even staircase that continues to the end; None for other series."""
    whole = _evenly(looks, _whole(looks, cuts))
    if len(whole) < ENOUGH:
        return None
    before, *levels = _levels(looks, whole)
    rises = sorted(b - a for a, b in pairwise((before, *levels)))
    # If fewer than five steps make nearly all of the gain, they are single events.
    lone = math.fsum(rises[: 1 - ENOUGH]) < _BESIDE_LARGEST * math.fsum(rises)
    if lone or any(after <= before for before, after in pairwise(levels)):
        return None
    return looks.with_values(levels, [looks.times[i] for i in whole])


def _levels(looks: Looks, cuts: Sequence[int]) -> list[float]:
    """Return the mean before the first cut and the mean after each cut."""
    pieces = pairwise((0, *cuts, len(looks)))
    return [math.fsum(looks.values[a:b]) / (b - a) for a, b in pieces]


def _whole(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return one cut per real step.

    If looks are means of neighbours, a mean may lie in the middle of a step. Cuts at neighbouring
    looks are then one step.
    """
    whole: list[int] = []
    begun = 0
    for i, cut in enumerate(cuts, 1):
        if i == len(cuts) or cuts[i] > cut + 1:
            whole += cuts[begun:i] if i - begun > _CUTS_OF_A_STEP else [cut]
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
        if max(waits) <= _LONGEST_WAIT * (looks.times[-1] - begun[0] + waits[0]):
            return list(cuts[first:]) if not first or len(begun) >= 2 * ENOUGH else []
    return []
