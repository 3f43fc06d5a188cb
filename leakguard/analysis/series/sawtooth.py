"""Teeth: a series that rises and falls back, and what lies under its falls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.cuts import ENOUGH, PASSES, level_cuts, shared_rise
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.tolerance import MAJORITY

# A fall hidden by noise has at least this share of the height of the visible falls. Chosen below a
# quarter: teeth of 5 to 20 generations differ by a factor of four. Smaller falls are curvature.
_HIDDEN_FALL = 0.2
# The common rise of teeth may become this many times as steep with the hidden falls. Measured: 1.5
# if half of the teeth were hidden. With more hidden, the parts between falls are no teeth. Chosen.
_STEEPER = 2.0
# Samples in which teeth are looked for. Averages of neighbours hide teeth, so this is more than in
# other judgements. It takes up to 30 ms.
LOOKS_FOR_TEETH = 512


def teeth(looks: Looks) -> list[int]:
    """Return the looks at which a series has just fallen back; a fall may take a few looks."""
    changes = looks.changes
    falls = [i for i, height in looks.jumps() if height < 0.0 and changes[i - 1] < 0.0]
    return _ends(falls)


def _ends(places: Sequence[int]) -> list[int]:
    """Return the last of each run of neighbouring places."""
    several = set(places)
    return [place for place in places if place + 1 not in several]


def all_teeth(looks: Looks) -> list[int]:
    """Return the looks at which a series has just fallen back, those that noise hides as well.

    Without the rise that all teeth share a series is level from fall to fall. More falls tell that
    rise better; where they tell another one, what lies between them are no teeth that share one.
    """
    falls = _evident_teeth(looks)
    if len(falls) < 2:
        return falls
    for _ in range(PASSES):
        found = _hidden_teeth(looks, falls)
        if len(found) < len(falls):
            break
        before, falls = falls, found
        if shared_rise(looks, found)[0] > _STEEPER * shared_rise(looks, before)[0]:
            break
    return falls


def _evident_teeth(looks: Looks) -> list[int]:
    """Return the falls that stand out; where these are few, from the trend, when five do so."""
    falls = teeth(looks)
    if len(falls) >= ENOUGH:
        return falls
    slope, changes = estimators.line(looks.times, looks.values).slope, looks.changes
    level = [v - slope * t for v, t in zip(looks.values, looks.times, strict=True)]
    beside = [i for i in teeth(looks.with_values(level)) if changes[i - 1] < -looks.noise_floor]
    return beside if len(beside) >= ENOUGH else falls


def _hidden_teeth(looks: Looks, falls: Sequence[int]) -> list[int]:
    """Return the falls that are seen without the rise that the teeth between falls share."""
    rise, _ = shared_rise(looks, falls)
    flat = [v - rise * t for v, t in zip(looks.values, looks.times, strict=True)]
    changes = [b - a for a, b in pairwise(flat)]
    cuts = level_cuts(flat, estimators.value_variance(changes))
    bounds = list(pairwise((0, *cuts, len(flat))))
    means = [math.fsum(flat[a:b]) / (b - a) for a, b in bounds]
    heights = [before - after for before, after in pairwise(means)]
    evident = estimators.median(sorted(-changes[fall - 1] for fall in falls))
    return _ends([c for c, h in zip(cuts, heights, strict=True) if h > _HIDDEN_FALL * evident])


def floors(looks: Looks, falls: Sequence[int]) -> Looks:
    """Return where each tooth starts: its mean less the rise that all teeth share.

    The first tooth began at an unknown time; it counts only where there are few.
    """
    bounds = list(pairwise((0, *falls, len(looks))))
    rise, _ = shared_rise(looks, falls)
    chosen = bounds[1:] if len(bounds) > ENOUGH else bounds
    levels = []
    for a, b in chosen:
        age = math.fsum(looks.times[a:b]) / (b - a) - looks.times[a]
        levels.append(math.fsum(looks.values[a:b]) / (b - a) - rise * age)
    return looks.with_values(levels, [looks.times[a] for a, _ in chosen])


def net_rise(floors: Looks) -> float:
    """Return by how much the last third of floors is above the first third.

    The last fall may still be under way: its floor counts only where there are few.
    """
    values = floors.values[:-1] if len(floors) > ENOUGH else floors.values
    third = max(1, len(values) // 3)
    last, first = sorted(values[-third:]), sorted(values[:third])
    return estimators.median(last) - estimators.median(first)


def levelled(looks: Looks, falls: Sequence[int], below: Looks) -> Looks | None:
    """Return a series since its first fall without its teeth; None where they take little back.

    A tooth rises by growth and garbage, and a fall takes the garbage back: what teeth rise more
    than their floors do is garbage.
    """
    rise, _ = shared_rise(looks, falls)
    garbage = rise - estimators.line(below.times, below.values).slope
    if garbage <= MAJORITY * rise:
        return None
    since = looks.since(falls[0])
    begun = [looks.times[max(f for f in falls if f <= i)] for i in range(falls[0], len(looks))]
    ages = [t - b for t, b in zip(since.times, begun, strict=True)]
    return since.with_values([v - garbage * a for v, a in zip(since.values, ages, strict=True)])
