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
# Worth: halved 5 of 12, doubled 1.
ENOUGH = 5
# The longest wait for a step may take this share of the length of a staircase. Derived: the fewest
# even steps that form a series, five, take a fifth each. Worth: halved 0, doubled 0.
_LONGEST_WAIT = 1.0 / ENOUGH
# The most steps that may be events such as imports; more are a staircase, which leaks. Chosen.
# Worth: halved 1 of 12, doubled 1.
_EVENTS = 6
# Without its four largest steps, a staircase must still rise by at least this share of its whole
# rise. Otherwise the rise is a few single events. Chosen a little below one fifth, which is left
# without four of five equal steps. Worth: halved 0, doubled 0.
_BESIDE_LARGEST = 0.15
# The most cuts (changes of level) at consecutive looks that count as one step: if looks are means
# of neighbours, a mean within a step adds a cut. More are separate steps with short treads. Chosen.
# Worth, on 23,786 recorded series: with any number, growth is no longer found in 26.
# Worth: halved 0, doubled 0.
_CUTS_OF_A_STEP = 3
# Levels between cuts are level if their common slope is below a share of the slope of the whole
# series, and below the whole by this many of its standard errors. A straight line meets neither,
# because it rises as steeply between any cuts as over its whole length. Chosen.
# Worth: _LEVEL_SHARE halved 0, doubled 0; _STANDARD_ERRORS halved 0, doubled 1.
_LEVEL_SHARE, _STANDARD_ERRORS = 1.0 / 3.0, 3.0
# Levels between cuts must fit a series better than a straight line does, by this factor in the
# residual sum of squares. Measured on a dozen looks: up to 1.5 for noise, because the cuts are
# chosen to fit the noise, and 3 for three even steps of five standard deviations.
# Worth: halved 0, doubled 1.
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


def is_few_steps(looks: Looks) -> bool:
    """Return True if a series is level between a few cuts, though it rises as a whole."""
    cuts = _steps(looks)
    if not 0 < len(cuts) <= _EVENTS:
        return False
    slope, _, mean = estimators.line(looks.times, looks.values)
    within, error = shared_rise(looks, cuts)
    if within >= _LEVEL_SHARE * slope or within + _STANDARD_ERRORS * error >= slope:
        return False
    pieces = zip(pairwise((0, *cuts, len(looks))), _levels(looks, cuts), strict=True)
    around_levels = math.fsum((v - m) ** 2 for (a, b), m in pieces for v in looks.values[a:b])
    middle = math.fsum(looks.times) / len(looks)
    rows = zip(looks.times, looks.values, strict=True)
    around_a_line = math.fsum((v - mean - slope * (t - middle)) ** 2 for t, v in rows)
    return _CLOSER * around_levels < around_a_line


def treads(looks: Looks) -> Looks | None:
    """Return the levels of an even staircase that continues to the end; None for other series."""
    whole = _evenly(looks, _whole(looks, _steps(looks)))
    if len(whole) < ENOUGH:
        return None
    before, *levels = _levels(looks, whole)
    rises = sorted(b - a for a, b in pairwise((before, *levels)))
    # If fewer than five steps make nearly all of the gain, they are single events.
    lone = math.fsum(rises[: 1 - ENOUGH]) < _BESIDE_LARGEST * math.fsum(rises)
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
