"""Steps: a series that is level in between and rises in a few events, or in an even staircase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.cuts import ENOUGH, PASSES, level_cuts, shared_rise
from leakguard.analysis.series.looks import Looks

# Share of a staircase that its longest wait for a step may take. Derived: five even steps, as many
# as make a series, have a fifth each.
_LONGEST_WAIT = 1.0 / ENOUGH
# Steps that may be events, as imports are; more are a staircase, and a staircase leaks. Chosen.
_EVENTS = 6
# Share of the whole rise that is left beside the four largest steps. Five equal steps leave a
# fifth; with less, there are lone steps. Chosen a little below a fifth, for noise.
_BESIDE_LARGEST = 0.15
# Cuts at so many neighbouring looks are one step, seen through means; more are short treads.
# Chosen.
_CUTS_OF_A_STEP = 3
# Share of the slope of the whole that a tread may have, and by how many standard errors it must be
# less than that slope. A line rises between cuts as steeply as in all. Chosen.
_LEVEL_SHARE, _STANDARD_ERRORS = 1.0 / 3.0, 3.0
# Factor by which levels must fit closer than a line. Measured on a dozen looks: cuts that are
# chosen to fit noise gain up to 1.5, and three even steps of five standard deviations gain 3.
_CLOSER = 1.6


def is_few_steps(looks: Looks, cuts: Sequence[int]) -> bool:
    """Return True if a series is level between a few cuts, though it rises as a whole."""
    if not 0 < len(cuts) <= _EVENTS:
        return False
    slope = estimators.line(looks.times, looks.values).slope
    within, error = shared_rise(looks, cuts)
    level = within < _LEVEL_SHARE * slope and within + _STANDARD_ERRORS * error < slope
    return level and _CLOSER * _around_levels(looks, cuts) < _around_a_line(looks)


def _around_levels(looks: Looks, cuts: Sequence[int]) -> float:
    """Return the residual squares of a series that is level between its cuts."""
    pieces = [looks.values[a:b] for a, b in pairwise((0, *cuts, len(looks)))]
    means = [math.fsum(piece) / len(piece) for piece in pieces]
    return math.fsum((v - m) ** 2 for p, m in zip(pieces, means, strict=True) for v in p)


def _around_a_line(looks: Looks) -> float:
    """Return the residual squares of a straight line."""
    slope, _, mean = estimators.line(looks.times, looks.values)
    middle = math.fsum(looks.times) / len(looks)
    rows = zip(looks.times, looks.values, strict=True)
    return math.fsum((v - mean - slope * (t - middle)) ** 2 for t, v in rows)


def steps(looks: Looks) -> list[int]:
    """Return the looks at which a piecewise constant series steps up or down.

    In a short series steps count as noise and hide others; the first cuts reduce that noise.
    """
    cuts: list[int] = []
    variance = estimators.value_variance(looks.changes)
    for _ in range(PASSES):
        found = level_cuts(looks.values, variance)
        if found == cuts:
            break
        cuts = found
        left = _around_levels(looks, cuts) / max(1, len(looks) - len(cuts) - 1)
        variance = min(variance, left)
    return cuts


def treads(looks: Looks, cuts: Sequence[int]) -> Looks | None:
    """Return the levels of an even staircase that goes on; None for any other series."""
    whole = _evenly(looks, _whole(looks, cuts))
    if len(whole) < ENOUGH:
        return None
    before, *levels = _levels(looks, whole)
    rises = sorted(b - a for a, b in pairwise((before, *levels)))
    # Fewer than five steps with nearly all of the gain are single events.
    lone = math.fsum(rises[: 1 - ENOUGH]) < _BESIDE_LARGEST * math.fsum(rises)
    if lone or any(after <= before for before, after in pairwise(levels)):
        return None
    return looks.with_values(levels, [looks.times[i] for i in whole])


def _levels(looks: Looks, cuts: Sequence[int]) -> list[float]:
    """Return the mean before the first cut and those after each."""
    pieces = pairwise((0, *cuts, len(looks)))
    return [math.fsum(looks.values[a:b]) / (b - a) for a, b in pieces]


def _whole(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return the cuts, one per real step.

    A mean of neighbours may lie within a step; cuts at neighbouring looks are then one step.
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
    """Return the cuts since which no wait was long; none if they are few.

    Earlier ones may be single events; a staircase that begins after them has ten steps.
    """
    for first in range(len(cuts)):
        begun = [looks.times[i] for i in cuts[first:]]
        waits = [b - a for a, b in pairwise((*begun, looks.times[-1]))]
        if max(waits) <= _LONGEST_WAIT * (looks.times[-1] - begun[0] + waits[0]):
            return list(cuts[first:]) if not first or len(begun) >= 2 * ENOUGH else []
    return []
