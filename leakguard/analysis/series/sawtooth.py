"""Teeth of a series that rises and falls back, and the floors to which it falls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.levels import ends, level_cuts, shared_rise
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.tolerance import ENOUGH, FLAT
from leakguard.analysis.tolerance import MAJORITY


def teeth(looks: Looks) -> list[int]:
    """Return the looks at which a series has just fallen back; a fall may take a few looks."""
    changes = looks.changes
    falls = [i for i, height in looks.jumps() if height < 0.0 and changes[i - 1] < 0.0]
    return ends(falls)


def all_teeth(looks: Looks) -> list[int]:
    """Return the looks at which a series has just fallen back, including falls hidden by noise.

    If the common rise of the teeth is subtracted, the series is level between two falls, and hidden
    falls appear.
    """
    falls = teeth(looks)
    found = _hidden_teeth(looks, falls) if len(falls) > 1 else falls
    return found if len(found) >= len(falls) else falls


def _hidden_teeth(looks: Looks, falls: Sequence[int]) -> list[int]:
    """Return the falls that appear once the common rise of the teeth is subtracted."""
    rise, _ = shared_rise(looks, falls)
    flat = [v - rise * t for v, t in zip(looks.values, looks.times, strict=True)]
    changes = [b - a for a, b in pairwise(flat)]
    cuts = level_cuts(flat, estimators.value_variance(changes))
    bounds = list(pairwise((0, *cuts, len(flat))))
    means = [math.fsum(flat[a:b]) / (b - a) for a, b in bounds]
    heights = [before - after for before, after in pairwise(means)]
    evident = estimators.median(sorted(-changes[fall - 1] for fall in falls))
    return ends([c for c, h in zip(cuts, heights, strict=True) if h > FLAT * evident])


def floors(looks: Looks, falls: Sequence[int]) -> Looks:
    """Return the level at which each tooth starts: its mean minus the common rise up to the mean.

    The first tooth began at an unknown time, so it is left out unless there are few teeth.
    """
    bounds = list(pairwise((0, *falls, len(looks))))
    rise, _ = shared_rise(looks, falls)
    chosen = bounds[1:] if len(bounds) > ENOUGH else bounds
    levels = []
    for a, b in chosen:
        age = math.fsum(looks.times[a:b]) / (b - a) - looks.times[a]
        levels.append(math.fsum(looks.values[a:b]) / (b - a) - rise * age)
    return looks.with_values(levels, [looks.times[a] for a, _ in chosen])


def levelled(looks: Looks, falls: Sequence[int], below: Looks) -> Looks | None:
    """Return a series since its first fall without its teeth; None if falls free little.

    A tooth rises by growth and by garbage, and a fall frees the garbage. The garbage per generation
    is the common rise of the teeth minus the rise of their floors.
    """
    rise, _ = shared_rise(looks, falls)
    garbage = rise - estimators.line(below.times, below.values).slope
    if garbage <= MAJORITY * rise:
        return None
    since = looks.since(falls[0])
    begun = [looks.times[max(f for f in falls if f <= i)] for i in range(falls[0], len(looks))]
    ages = [t - b for t, b in zip(since.times, begun, strict=True)]
    return since.with_values([v - garbage * a for v, a in zip(since.values, ages, strict=True)])
