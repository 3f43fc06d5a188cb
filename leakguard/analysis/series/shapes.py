"""Shapes that are recognized in a series directly, before any model is fitted.

The series never rose, stopped rising, rises by the same amount at even distances, or rises apart
from one or two jumps.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from leakguard.analysis.facts.reason import Reason
from leakguard.analysis.series import estimators
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.sawtooth import teeth
from leakguard.analysis.series.tolerance import (
    DOUBTFUL,
    FLAT,
    LITTLE,
    NEAR_SHARE,
    OUTLIVES,
    OUTSTANDING,
    RISK,
    ROUNDING,
)
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, NEARLY_ALL, OWN_SHARE


def never_rose(looks: Looks) -> bool:
    """Return True if the last quarter of the values is not above any earlier quarter.

    Its mean and its minimum are compared.
    """
    values, quarter = looks.values, len(looks) // 4
    if not quarter:
        return values[-1] <= values[0]
    ends = [len(values) - i * quarter for i in range(3)]
    parts = [*(values[end - quarter : end] for end in ends), values[:quarter]]
    means = [math.fsum(part) / quarter for part in parts]
    middle, floor = max(means[1:3]), max(min(parts[1]), min(parts[2]))
    return means[0] <= middle and means[0] <= means[3] and min(parts[0]) <= floor


def quiet_shape(looks: Looks) -> Shape:
    """Return the shape of a series that does not rise at its end."""
    if looks.values[-1] - looks.values[0] < -MAJORITY * looks.span:
        return "flat"
    if len(teeth(looks)) > 1:
        return "sawtooth"
    if estimators.spread(looks.values) > OWN_SHARE * looks.span or looks.span <= looks.noise_floor:
        return "noise"
    return "flat" if looks.values[0] == max(looks.values) else "transient"


def rest(looks: Looks) -> SeriesVerdict | None:
    """Return the verdict on a series that grew and then rested, to the end; None for others."""
    n, values, times = len(looks), looks.values, looks.times
    if len(teeth(looks)) > 1:
        return None
    risen = max(looks.noise_floor, OUTSTANDING * looks.spread)
    for first in range(1, n - 1):
        level = math.fsum(values[first:]) / (n - first)
        # Compare the tail with the rate over an equal time just before it. The rate over a longer
        # time may be higher, and growth that slowed down long before would seem to stop at the
        # tail.
        begun = times[first] - (times[-1] - times[first])
        before = max(0, bisect_right(times, begun) - 1)
        pace = (level - values[before]) / (times[first] - times[before])
        if level - values[0] > risen and _is_flat(tail := looks.since(first), pace):
            first, level = _reached(looks, tail)
            return _rested(looks, first, level) if _is_long(looks, first) else None
    return None


def _is_flat(tail: Looks, pace: float) -> bool:
    if tail.span <= max(tail.noise_floor, ROUNDING * pace):
        return True
    if len(tail) < FEWEST_LOOKS:
        return False
    fitted = estimators.line(tail.times, tail.values)
    freedom = len(tail) - 2
    surely = fitted.slope + estimators.quantile(RISK, freedom) * fitted.error
    return surely <= FLAT * pace and fitted.slope <= (
        estimators.quantile(DOUBTFUL, freedom) * fitted.error
    )


def _reached(looks: Looks, tail: Looks) -> tuple[int, float]:
    """Return the look from which the values are at the level of the rest, and the level."""
    level = estimators.median(sorted(tail.values))
    risen = level - looks.values[0]
    near = max(tail.spread, NEAR_SHARE * risen, looks.noise_floor)
    first = len(looks) - len(tail)
    while looks.values[first] < level - near and first < len(looks) - 1:
        first += 1
    while first > 1 and looks.values[first - 1] >= level - near:
        first -= 1
    return first, level


def _is_long(looks: Looks, first: int) -> bool:
    idle = looks.times[-1] - looks.times[first]
    least = max(LITTLE * looks.length, OUTLIVES * longest_pause(looks, first))
    return idle >= least and (len(looks) - first > FEWEST_LOOKS or one_dominates(looks.changes))


def longest_pause(looks: Looks, until: int) -> float:
    """Return the longest time between two upward jumps up to a look, in generations."""
    rises = [looks.times[i] for i, height in looks.jumps(0.0) if height > 0.0 and i <= until]
    return max((b - a for a, b in pairwise(rises)), default=0.0)


def one_dominates(changes: Sequence[float]) -> bool:
    """Return True if a single rise is nearly all of the sum of rises."""
    rises = [change for change in changes if change > 0.0]
    return bool(rises) and max(rises) >= NEARLY_ALL * math.fsum(rises)


def _rested(looks: Looks, first: int, level: float) -> SeriesVerdict:
    """Return the verdict on a series that grew and has been at a level since look ``first``."""
    grown, since, until = looks.of(range(first + 1)), looks.since(first), looks.times[first]
    shape: Shape = "filling"
    if max(looks.changes) >= NEARLY_ALL * (level - looks.values[0]):
        shape = "step"
    elif (
        until - looks.times[0] <= MAJORITY * looks.length
        and len(grown) > 3
        and estimators.bend(grown.times, grown.values)[0] < MAJORITY
    ):
        shape = "warm-up"
    plateau = None if shape == "step" else Plateau(level, math.ceil(until))
    measured = since.rate() if len(since) > 2 else None
    return looks.verdict(shape, "no", plateau=plateau, measured=measured)


def even_counts(looks: Looks) -> SeriesVerdict | None:
    """Return growth for a count that rose by the same amount at even distances, to the end.

    Counts are exact, so three rises are proof. None for other series, and if it rose at every look.
    """
    changes = looks.changes
    rises = [i for i, change in enumerate(changes, 1) if change]
    sizes = {changes[i - 1] for i in rises}
    if not looks.integer or len(rises) < FEWEST_LOOKS or len(sizes) > 1 or min(sizes) < 0.0:
        return None
    begun = [looks.times[i] for i in rises]
    waits = [b - a for a, b in pairwise(begun)]
    longest = max(waits)
    late = looks.times[-1] - begun[-1] > longest or begun[0] - looks.times[0] > longest + 1.0
    if late or longest - min(waits) > 1.0 or len(rises) == len(looks) - rises[0]:
        return None
    size, wait = sizes.pop(), (begun[-1] - begun[0]) / len(waits)
    return looks.verdict(
        "growing",
        "yes",
        Reason("even rises", (size,), (wait, len(rises))),
        started=begun[0],
        detectable=size / wait,
        measured=(size / wait, (size / wait, size / wait)),
    )
