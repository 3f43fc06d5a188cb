"""Healthy shapes that a series shows by itself, before any model is fitted: it never rose, it
stopped rising, it falls back in teeth, it rises in steps.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from leakguard.analysis.series import estimators
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape

# A rest is flat when its slope is surely below this share of the pace before it, and may be 0.
FLAT = 0.25
_SURELY, _MAYBE = 0.01, 0.1
# A rest is told from a pause after an eighth of the run, and after twice the longest pause.
REST, _PAUSES = 0.125, 2.0
# A series that is mostly at one level, but for a peak, has less than this share of its span as
# spread (normal noise has 0.15 in a thousand looks).
_ALOFT = 0.1
# One change is a step when it is this share of all that was gained.
_DOMINATES = 0.8
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
# Cuts settle in two or three passes.
_PASSES = 3
# Exact counts need three rises, as they need three looks.
_EVEN = 3
# A fall that noise hides is no smaller than this share of those that it does not hide: teeth of 5
# to 20 generations differ by a factor of four. Less is how a piece bends.
_HIDDEN = 0.2
# The rise of teeth of which half are hidden is found to be up to 1.5 times as steep with all falls.
_SAME = 2.0
# Means of neighbours hide teeth: these are looked for in up to so many looks (up to 30 ms).
MOST = 512
# Floors and treads that are a series of their own.
ENOUGH = 5


def never_rose(looks: Looks) -> bool:
    """Return True when the last quarter is not above the second and third, nor the first."""
    values, quarter = looks.values, len(looks) // 4
    if not quarter:
        return values[-1] <= values[0]
    ends = [len(values) - i * quarter for i in range(3)]
    parts = [*(values[end - quarter : end] for end in ends), values[:quarter]]
    means = [math.fsum(part) / quarter for part in parts]
    middle, floor = max(means[1:3]), max(min(parts[1]), min(parts[2]))
    return means[0] <= middle and means[0] <= means[3] and min(parts[0]) <= floor


def quiet_shape(looks: Looks) -> Shape:
    """Return what to call a series that does not rise in the end."""
    if len(teeth(looks)) > 1:
        return "sawtooth"
    if estimators.spread(looks.values) > _ALOFT * looks.span or looks.span <= looks.noise_floor:
        return "noise"
    return "flat" if looks.values[0] == max(looks.values) else "transient"


@dataclass(frozen=True, slots=True)
class Rest:
    """A flat tail: the look at which the growth was over, and whether it lasted long enough."""

    first: int
    level: float
    long: bool


def rest(looks: Looks) -> Rest | None:
    """Return the flat tail of a series that had grown, None where there is none."""
    n, values, times = len(looks), looks.values, looks.times
    if len(teeth(looks)) > 1:
        return None
    risen = max(looks.noise_floor, 3.0 * looks.spread())
    for first in range(1, n - 1):
        tail = looks.since(first)
        level = math.fsum(tail.values) / len(tail)
        # The pace of as long a time just before: what slowed down long ago has not just stopped.
        begun = times[first] - (times[-1] - times[first])
        before = max(0, bisect_right(times, begun) - 1)
        pace = (level - values[before]) / (times[first] - times[before])
        if level - values[0] <= risen or not _is_flat(tail, pace):
            continue
        first, level = _reached(looks, tail)
        return Rest(first, level, _is_long(looks, first))
    return None


def _is_flat(tail: Looks, pace: float) -> bool:
    if tail.span <= max(tail.noise_floor, 1e-9 * pace):
        return True
    if len(tail) < 3:
        return False
    fitted = estimators.line(tail.times, tail.values)
    freedom = len(tail) - 2
    surely = fitted.slope + estimators.quantile(_SURELY, freedom) * fitted.error
    return surely <= FLAT * pace and fitted.slope <= (
        estimators.quantile(_MAYBE, freedom) * fitted.error
    )


def _reached(looks: Looks, tail: Looks) -> tuple[int, float]:
    """Return the look from which on the values are at the level of the rest, and that level."""
    level = estimators.median(sorted(tail.values))
    risen = level - looks.values[0]
    near = max(2.0 * tail.spread(), 0.05 * risen, looks.noise_floor)
    first = len(looks) - len(tail)
    while looks.values[first] < level - near and first < len(looks) - 1:
        first += 1
    while first > 1 and looks.values[first - 1] >= level - near:
        first -= 1
    return first, level


def _is_long(looks: Looks, first: int) -> bool:
    idle = looks.times[-1] - looks.times[first]
    least = max(REST * looks.length, _PAUSES * longest_pause(looks, first))
    return idle >= least and (len(looks) - first > 3 or one_dominates(looks.changes))


def longest_pause(looks: Looks, until: int) -> float:
    """Return the longest wait between two jumps up that lie before a look, in generations."""
    rises = [looks.times[i] for i, height in looks.jumps(0.0) if height > 0.0 and i <= until]
    return max((b - a for a, b in pairwise(rises)), default=0.0)


def one_dominates(changes: Sequence[float]) -> bool:
    """Return True when one rise is nearly all of them."""
    rises = [change for change in changes if change > 0.0]
    return bool(rises) and max(rises) >= _DOMINATES * math.fsum(rises)


def rested(looks: Looks, found: Rest) -> SeriesVerdict:
    """Return the verdict on a series that grew and has stood still since."""
    until, first = looks.times[found.first], looks.values[0]
    net = max(looks.changes) >= _DOMINATES * (found.level - first)
    grown = looks.of(range(found.first + 1))
    curved = len(grown) > 3 and estimators.bend(grown.times, grown.values).ratio < 0.5
    early = until - looks.times[0] <= 0.5 * looks.length
    shape: Shape = "step" if net else "warm-up" if curved and early else "filling"
    since = looks.since(found.first)
    fitted = estimators.line(since.times, since.values) if len(since) > 2 else None
    enough = found.long
    more = max(REST * looks.length - (looks.times[-1] - until), looks.gap)
    return looks.verdict(
        shape,
        "no" if enough else "cannot tell",
        (0.6 + 0.3 * (1.0 - 1.0 / len(since))) if enough else 0.3,
        f"it went from {looks.describe(first)} to {looks.describe(found.level)} until generation "
        f"{until:g}, and the {len(since) - 1} looks since add "
        f"{looks.describe(looks.values[-1] - looks.values[found.first])}",
        stopped=until if enough else None,
        plateau=None if shape == "step" else Plateau(found.level, math.ceil(until)),
        detectable=0.0 if fitted is None else max(0.0, fitted.slope) + 3.0 * fitted.error,
        more_rounds=None if enough else more,
        measured=None if fitted is None else since.rate(),
    )


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
    for _ in range(_PASSES):
        found = _hidden_teeth(looks, falls)
        if len(found) < len(falls):
            break
        before, falls = falls, found
        if _shared_rise(looks, found)[0] > _SAME * _shared_rise(looks, before)[0]:
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
    rise, _ = _shared_rise(looks, falls)
    flat = [v - rise * t for v, t in zip(looks.values, looks.times, strict=True)]
    changes = [b - a for a, b in pairwise(flat)]
    cuts = level_cuts(flat, 0.5 * estimators.spread(changes) ** 2)
    bounds = list(pairwise((0, *cuts, len(flat))))
    means = [math.fsum(flat[a:b]) / (b - a) for a, b in bounds]
    heights = [before - after for before, after in pairwise(means)]
    evident = estimators.median(sorted(-changes[fall - 1] for fall in falls))
    return _ends([c for c, h in zip(cuts, heights, strict=True) if h > _HIDDEN * evident])


def floors(looks: Looks, falls: Sequence[int]) -> Looks:
    """Return where each tooth starts: its mean less the rise that all teeth share.

    The first tooth began at an unknown time; it counts only where there are few.
    """
    bounds = list(pairwise((0, *falls, len(looks))))
    rise, _ = _shared_rise(looks, falls)
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
    """Return a series since its first fall without its teeth; None where they take no rise back.

    A tooth rises by growth and garbage, and a fall takes the garbage back: what teeth rise more
    than their floors do is garbage.
    """
    rise, _ = _shared_rise(looks, falls)
    garbage = rise - estimators.line(below.times, below.values).slope
    if garbage <= 0.5 * rise:
        return None
    since = looks.since(falls[0])
    begun = [looks.times[max(f for f in falls if f <= i)] for i in range(falls[0], len(looks))]
    ages = [t - b for t, b in zip(since.times, begun, strict=True)]
    return since.with_values([v - garbage * a for v, a in zip(since.values, ages, strict=True)])


def _shared_rise(looks: Looks, cuts: Sequence[int]) -> tuple[float, float]:
    """Return the least-squares slope within all pieces together, and its standard error."""
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


def is_few_steps(looks: Looks, cuts: Sequence[int]) -> bool:
    """Return True when a series is level between a few cuts, though it rises in all."""
    if not 0 < len(cuts) <= _EVENTS:
        return False
    slope = estimators.line(looks.times, looks.values).slope
    within, error = _shared_rise(looks, cuts)
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
    for _ in range(_PASSES):
        found = level_cuts(looks.values, variance)
        if found == cuts:
            break
        cuts = found
        left = _around_levels(looks, cuts) / max(1, len(looks) - len(cuts) - 1)
        variance = min(variance, left)
    return cuts


def level_cuts(values: Sequence[float], variance: float) -> list[int]:
    """Return where a series that is level in pieces changes its level.

    Optimal partitioning (Jackson et al. 2005): least squares plus 3 log(n) noise variances a cut;
    pruned (PELT, Killick et al. 2012): a place that is worse than a cut here never is best later.
    """
    n, centre = len(values), values[0]
    sums, squares = [0.0], [0.0]
    for value in values:
        sums.append(sums[-1] + value - centre)
        squares.append(squares[-1] + (value - centre) ** 2)
    variance = max(variance, 1e-9 * squares[n] / n)
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


def even_counts(looks: Looks) -> list[int]:
    """Return the looks at which a count rose, by the same at even distances to the end, or none."""
    changes = looks.changes
    rises = [i for i, change in enumerate(changes, 1) if change]
    sizes = {changes[i - 1] for i in rises}
    if not looks.integer or len(rises) < _EVEN or len(sizes) > 1 or min(sizes) < 0.0:
        return []
    begun = [looks.times[i] for i in rises]
    waits = [b - a for a, b in pairwise(begun)]
    longest = max(waits)
    late = looks.times[-1] - begun[-1] > longest or begun[0] - looks.times[0] > longest + 1.0
    return [] if late or longest - min(waits) > 1.0 else rises


def beside_jumps(looks: Looks) -> Looks | None:
    """Return a series without its one or two jumps up; None where it has none, or more."""
    jumps = dict(looks.jumps())
    if not 0 < len(jumps) <= 2 or min(jumps.values()) < 0.0:
        return None
    others = [change for i, change in enumerate(looks.changes, 1) if i not in jumps]
    if min(others, default=0.0) <= looks.noise_floor:
        return None
    heights = list(accumulate(jumps.get(i, 0.0) for i in range(len(looks))))
    return looks.with_values([v - h for v, h in zip(looks.values, heights, strict=True)])
