"""Steps: a series that is level in between, rises in a few events, or in an even staircase."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.cuts import ENOUGH, PASSES, level_cuts, shared_rise
from leakguard.analysis.series.looks import Looks

# A staircase leaks when no wait was longer than a fifth of it: at least five steps, evenly spread.
_WAIT = 0.2
# So many steps are events; more are a staircase, and a staircase leaks.
_EVENTS = 6
# Beside the four largest of five equal steps there is a fifth of all; less are lone steps.
_OTHERS = 0.15
# Cuts at up to so many neighbouring looks are one step; more are a staircase of such short treads.
_AMID = 3
# A line rises as much between any cuts as in all; a tread by less than a third of it, by more
# than three standard errors.
_LEVEL, _SURE = 1.0 / 3.0, 3.0
# Levels must fit clearly closer than a line: cuts that are chosen to fit noise gain up to a half
# on a dozen looks. Three even steps of five standard deviations gain a factor of three.
_CLOSER = 1.6


def is_few_steps(looks: Looks, cuts: Sequence[int]) -> bool:
    """Return True when a series is level between a few cuts, though it rises in all."""
    if not 0 < len(cuts) <= _EVENTS:
        return False
    slope = estimators.line(looks.times, looks.values).slope
    within, error = shared_rise(looks, cuts)
    level = within < _LEVEL * slope and within + _SURE * error < slope
    return level and _CLOSER * _around_levels(looks, cuts) < _around_a_line(looks)


def _around_levels(looks: Looks, cuts: Sequence[int]) -> float:
    """Return the squares that are left when a series is level between its cuts."""
    pieces = [looks.values[a:b] for a, b in pairwise((0, *cuts, len(looks)))]
    means = [math.fsum(piece) / len(piece) for piece in pieces]
    return math.fsum((v - m) ** 2 for p, m in zip(pieces, means, strict=True) for v in p)


def _around_a_line(looks: Looks) -> float:
    """Return the squares that a straight line leaves over."""
    slope, _, mean = estimators.line(looks.times, looks.values)
    middle = math.fsum(looks.times) / len(looks)
    rows = zip(looks.times, looks.values, strict=True)
    return math.fsum((v - mean - slope * (t - middle)) ** 2 for t, v in rows)


def steps(looks: Looks) -> list[int]:
    """Return the looks at which a series that is level in pieces steps up or down.

    In a short series steps pass for noise, and hide others: what the first ones leave over is less.
    """
    cuts: list[int] = []
    variance = 0.5 * estimators.spread(looks.changes) ** 2
    for _ in range(PASSES):
        found = level_cuts(looks.values, variance)
        if found == cuts:
            break
        cuts = found
        left = _around_levels(looks, cuts) / max(1, len(looks) - len(cuts) - 1)
        variance = min(variance, left)
    return cuts


def treads(looks: Looks, cuts: Sequence[int]) -> Looks | None:
    """Return the levels of an even staircase that goes on, None for any other series."""
    whole = _evenly(looks, _whole(looks, cuts))
    if len(whole) < ENOUGH:
        return None
    before, *levels = _levels(looks, whole)
    rises = sorted(b - a for a, b in pairwise((before, *levels)))
    # Fewer than five steps that are nearly all that was gained are lone ones.
    lone = math.fsum(rises[: 1 - ENOUGH]) < _OTHERS * math.fsum(rises)
    if lone or any(after <= before for before, after in pairwise(levels)):
        return None
    return looks.with_values(levels, [looks.times[i] for i in whole])


def _levels(looks: Looks, cuts: Sequence[int]) -> list[float]:
    """Return the mean before the first cut and those after each."""
    pieces = pairwise((0, *cuts, len(looks)))
    return [math.fsum(looks.values[a:b]) / (b - a) for a, b in pieces]


def _whole(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return the cuts, one for each step that means something.

    A mean of neighbours may lie amid a step, and cuts at neighbouring looks then are one step.
    """
    whole: list[int] = []
    begun = 0
    for i, cut in enumerate(cuts, 1):
        if i == len(cuts) or cuts[i] > cut + 1:
            whole += cuts[begun:i] if i - begun > _AMID else [cut]
            begun = i
    rises = [b - a for a, b in pairwise(_levels(looks, whole))]
    return [c for c, rise in zip(whole, rises, strict=True) if abs(rise) > looks.noise_floor]


def _evenly(looks: Looks, cuts: Sequence[int]) -> list[int]:
    """Return the cuts since which no wait was long; none where these are few.

    What went before may be lone steps; a staircase that begins after these has ten steps.
    """
    for first in range(len(cuts)):
        begun = [looks.times[i] for i in cuts[first:]]
        waits = [b - a for a, b in pairwise((*begun, looks.times[-1]))]
        if max(waits) <= _WAIT * (looks.times[-1] - begun[0] + waits[0]):
            return list(cuts[first:]) if not first or len(begun) >= 2 * ENOUGH else []
    return []
