"""Does a series of numbers grow without bound? One procedure for any length and spacing of looks.

The set-up is left out. The shape alone decides a series that never rose, that came to rest, or that
falls back. For a series that rises to the end, explanations are scored: growth is accepted if every
benign explanation is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from leakguard.analysis.facts.reason import Reason
from leakguard.analysis.series import levels, sawtooth, shapes
from leakguard.analysis.series.looks import Looks, checked, unit_of
from leakguard.analysis.series.tolerance import (
    ENOUGH,
    FLAT,
    LOOKS_FOR_TEETH,
    OUTLIVES,
    ROUNDING,
    SET_UP,
    WITH_GROWTH_IN_IT,
)
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape
from leakguard.analysis.series.weighed import doubtful, first_within, healthy, leak
from leakguard.analysis.series.weighing import Weighing
from leakguard.analysis.tolerance import FEWEST_LOOKS


def judge_series(
    values: Sequence[float],
    *,
    at: Sequence[float] | None = None,
    integer: bool = False,
    noise_floor: float = 0.0,
    capacity: float | None = None,
    warmup: int = 2,
) -> SeriesVerdict:
    """Return the verdict on ``values``.

    Args:
        values: finite numbers in any unit; if ``at`` is None, one per generation, oldest first.
        at: the generation of each value, with any distances and in any order. Rates are per
            generation, and ``started`` and a plateau's round are generations.
        integer: the values are counts, exact to one.
        noise_floor: changes of a value below this are not evidence (a page, a block).
        capacity: the value at which the series is known to stop, in its own unit.
        warmup: how many changes at the start may be left out as warm-up.

    Raises:
        ValueError: a value is not finite, the noise floor or warm-up is negative, or the
            generations are not finite, different, and one for each value.
    """
    times, series = checked(values, at, noise_floor, warmup)
    unit = unit_of(series)
    looks = Looks(
        times,
        [value / unit for value in series],
        integer and unit == 1.0,
        noise_floor / unit,
    )
    verdict = _judge(looks, warmup)
    if capacity is not None and verdict.growing != "no" and len(looks) >= FEWEST_LOOKS:
        verdict = _towards(capacity / unit, looks, verdict)
    return verdict if unit == 1.0 else verdict.times(unit)


def _judge(looks: Looks, warmup: int) -> SeriesVerdict:
    """Return the verdict of the first rule that applies."""
    flat = looks.span <= looks.noise_floor
    if len(looks) < FEWEST_LOOKS:
        return looks.verdict("flat" if flat else "noise", "cannot tell")
    if flat:
        return looks.verdict("flat", "no")
    if shapes.never_rose(looks):
        return looks.verdict(shapes.quiet_shape(looks), "no")
    return (
        shapes.rest(looks.in_blocks())
        or _after_set_up(looks, warmup)
        or shapes.even_counts(looks)
        or _falls_back(looks.in_blocks(LOOKS_FOR_TEETH))
        or _weighed_in_blocks(looks)
    )


def _towards(capacity: float, looks: Looks, verdict: SeriesVerdict) -> SeriesVerdict:
    """Return that a series below its known capacity fills, however steadily it grows."""
    last = looks.values[-1]
    if last > capacity + looks.noise_floor or verdict.rate <= 0.0:
        return verdict
    full = math.ceil(looks.times[-1] + (capacity - last) / verdict.rate)
    plateau = Plateau(capacity, full)
    return looks.verdict("filling", "no", plateau=plateau, detectable=verdict.detectable)


def _after_set_up(looks: Looks, warmup: int) -> SeriesVerdict | None:
    """Judge the series without its set-up, whose changes are no evidence of later growth.

    None if the series has no set-up.
    """
    changes = looks.changes
    most = min(warmup, len(looks) - (FEWEST_LOOKS if looks.integer else ENOUGH))
    if most < 1:
        return None
    paces = looks.paces
    rest = paces[most:]
    first = [i for i, p in enumerate(paces[:most], 1) if abs(p) > SET_UP * max(map(abs, rest))]
    if not first and looks.integer and len(set(rest)) == 1:
        first = [i for i, p in enumerate(paces[:most], 1) if p != rest[0]]
    if not first:
        return None
    later, skipped = looks.since(first[-1]), changes[: first[-1]]
    change = later.values[0] - looks.values[0]
    verdict = _judge(later, 0).within(Reason("after set-up", (change,), (first[-1],)))
    if verdict.growing == "yes" and verdict.started is not None:
        return replace(verdict, started=_earlier(looks, skipped, verdict))
    if verdict.growing == "no" and verdict.shape in ("flat", "noise") and change > 0.0:
        return replace(verdict, shape="step")
    return verdict


def _earlier(looks: Looks, skipped: Sequence[float], verdict: SeriesVerdict) -> int | None:
    """Return when growth may have begun, which may be within the warm-up that was left out."""
    first = len(skipped)
    if verdict.started != math.ceil(looks.times[first + 1]):
        return verdict.started
    while first:
        share = (looks.times[first] - looks.times[first - 1]) * verdict.rate
        if not WITH_GROWTH_IN_IT[0] * share <= skipped[first - 1] <= WITH_GROWTH_IN_IT[1] * share:
            break
        first -= 1
    return math.ceil(looks.times[first + 1])


def _accelerates(looks: Looks) -> SeriesVerdict | None:
    """Return growth if each change exceeds the previous one, as no series that fills does."""
    paces = looks.paces
    first = len(paces) - 1
    while first > 0 and paces[first - 1] * (1 + ROUNDING) < paces[first]:
        first -= 1
    rates = [pace for pace in paces[first:] if pace > looks.noise_floor]
    if len(rates) < ENOUGH or looks.values[-1] < max(looks.values):
        return None
    return looks.verdict(
        "growing",
        "yes",
        Reason("ever faster", (rates[-1],), (len(rates),)),
        started=looks.times[-len(rates)],
    )


def _falls_back(looks: Looks) -> SeriesVerdict | None:
    """Judge a series that falls back, by its floors, and by its last rise if that is long."""
    falls = sawtooth.all_teeth(looks.without_spikes())
    if not falls:
        return None
    begun = [looks.times[i] for i in (0, *falls)]
    longest = max(b - a for a, b in pairwise(begun))
    age, since = looks.times[-1] - begun[-1], looks.since(falls[-1])
    fell = (len(falls), len(looks))
    top = max(looks.values[: falls[-1]])
    overtakes = max(since.values) > top + max(FLAT * (top - min(looks.values)), looks.noise_floor)
    if age >= OUTLIVES * longest and len(since) > FEWEST_LOOKS:
        verdict = _judge(since, 0)
        if verdict.growing != "yes" or overtakes:
            return verdict.within(Reason("after teeth", (), (*fell, begun[-1])))
    floors = sawtooth.floors(looks, falls)
    rising = len(floors) > 2 and all(b > a + looks.noise_floor for a, b in pairwise(floors.values))
    below = _beneath(looks, falls, floors)
    if below is not None and below.growing == "yes":
        return below.within(Reason("floors of teeth", (), fell))
    shape: Shape = "sawtooth" if len(falls) > 1 else "transient"
    unsure = below is not None and below.growing == "cannot tell"
    open_ = overtakes or rising or (unsure and floors.rate()[0] * floors.length > looks.noise_floor)
    return looks.verdict(
        shape,
        "cannot tell" if open_ else "no",
        more_rounds=max(longest, looks.gap),
        measured=floors.rate(),
    )


def _beneath(looks: Looks, falls: Sequence[int], floors: Looks) -> SeriesVerdict | None:
    """Return the verdict on the series without its teeth; None if too little is left."""
    if len(floors) < ENOUGH:
        return None
    level = sawtooth.levelled(looks, falls, floors)
    if level is None:
        return _judge(floors, 0)
    if level.span <= max(looks.noise_floor, ROUNDING * looks.span):
        return level.verdict("flat", "no")
    return _weighed(level.without_spikes().in_blocks())


def _weighed_in_blocks(looks: Looks) -> SeriesVerdict:
    """Judge the means of neighbours if there are many looks; find the start from the looks."""
    blocks = looks.in_blocks()
    verdict = _weighed(blocks)
    if verdict.growing == "cannot tell":
        return _accelerates(looks) or verdict
    if blocks is looks or verdict.growing != "yes" or verdict.started is None:
        return verdict
    return replace(verdict, started=math.ceil(first_within(looks, blocks.gap, verdict.started)))


def _weighed(looks: Looks) -> SeriesVerdict:
    weighing = Weighing(looks)
    growth = weighing.growth
    if growth is not None and weighing.grows:
        if weighing.slows(growth):
            return _beside_jumps(looks) or doubtful(weighing, growth, "filling")
        grown = weighing.grown(growth)
        if len(grown) > FEWEST_LOOKS and levels.is_few_steps(grown):
            return _staircase(looks) or doubtful(weighing, growth, "step")
        if grown.rate()[1][0] <= 0.0:
            return doubtful(weighing, growth, "growing")
        return leak(weighing, growth)
    return _beside_jumps(looks) or _staircase(looks) or healthy(weighing)


def _beside_jumps(looks: Looks) -> SeriesVerdict | None:
    """Return growth for a series that grows apart from one or two events, such as imports."""
    jumps = dict(looks.jumps())
    if not 0 < len(jumps) <= 2 or min(jumps.values()) < 0.0:
        return None
    others = [change for i, change in enumerate(looks.changes, 1) if i not in jumps]
    if min(others, default=0.0) <= looks.noise_floor:
        return None
    heights = accumulate(jumps.get(i, 0.0) for i in range(len(looks)))
    rest = looks.with_values([v - h for v, h in zip(looks.values, heights, strict=True)])
    verdict = _judge(rest, 0) if rest.span > rest.noise_floor else None
    if verdict is None or verdict.growing != "yes":
        return None
    return verdict.within(Reason("beside jumps", tuple(jumps.values())))


def _staircase(looks: Looks) -> SeriesVerdict | None:
    treads = levels.treads(looks)
    if treads is None:
        return None
    verdict = _judge(treads, 0)
    if verdict.growing != "yes":
        return None
    verdict = replace(verdict, started=math.ceil(treads.times[0]))
    return verdict.within(Reason("staircase", (), (len(treads),)))
