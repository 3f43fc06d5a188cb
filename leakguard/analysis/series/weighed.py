"""Makes the verdict on a series whose explanations have been scored."""

from __future__ import annotations

import math

from leakguard.analysis.facts.reason import Reason
from leakguard.analysis.series import shapes
from leakguard.analysis.series.explanations import Fit, Kind
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.tolerance import FLAT, LITTLE, PLACES, WARM_UP
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape
from leakguard.analysis.series.weighing import Weighing
from leakguard.analysis.tolerance import FEWEST_LOOKS


def leak(weighing: Weighing, growth: Fit) -> SeriesVerdict:
    """Return the verdict of growth if every benign explanation is rejected."""
    looks = weighing.looks
    settled = weighing.settled(growth)
    grown = looks.since(settled)
    rate, interval = weighing.rate(growth)
    begun = _start(weighing, growth)
    started = _first(looks, begun, rate)
    exact = len(set(grown.changes)) == 1
    return looks.verdict(
        "growing",
        "yes",
        Reason(
            "exact line" if exact else "line",
            (rate, *interval),
            (len(grown) - 1, math.ceil(started)),
            weighing.healthiest,
        ),
        started=started,
        detectable=weighing.detectable(growth),
        measured=(rate, interval),
    )


def _start(weighing: Weighing, growth: Fit) -> int:
    """Return the last look before growth: near the fit's start, where a broken line fits best."""
    looks, start = weighing.looks, growth.start or 0
    if looks.integer:
        while start < len(looks) - 2 and looks.values[start + 1] <= looks.values[start]:
            start += 1
    if not start or growth.tau is not None or growth.end is not None:
        return start
    reach, n = len(weighing.looks) // PLACES + 1, len(weighing.looks)
    places = range(max(0, start - reach), max(1, min(n - FEWEST_LOOKS, start + reach + 1)))
    return max(places, key=lambda place: _broken(weighing.looks, place))


def _first(looks: Looks, begun: int, rate: float) -> float:
    """Return the generation in which growth begins, after the look ``begun``.

    For an exact count, the generation is interpolated between two looks from gain and rate.
    """
    before, after = looks.times[begun], looks.times[begun + 1]
    if not looks.integer or rate <= 0.0:
        return after
    gained = looks.values[begun + 1] - looks.values[begun]
    return min(after, max(before, after - gained / rate) + 1)


def first_within(looks: Looks, width: float, started: float) -> float:
    """Return the generation in which growth begins, given the start found in blocks of looks.

    Args:
        looks: all looks of the series.
        width: the width of a block, in generations.
        started: the generation of the first block with growth.
    """
    reach = PLACES * width
    near = looks.of(i for i, t in enumerate(looks.times) if abs(t - started) <= reach)
    blocks = near.in_blocks()
    places = range(len(blocks) - FEWEST_LOOKS)
    within = [i for i in places if -2 * width <= blocks.times[i] - started < width / 2]
    if not within:
        return started
    found = blocks.times[max(within, key=lambda place: _broken(blocks, place)) + 1]
    return found if blocks is near else first_within(near, blocks.gap, found)


def _broken(looks: Looks, start: int) -> float:
    """Return the sum of squares that a broken line explains; negative if the line falls.

    The line is level up to ``start`` and straight from there on.
    """
    ramp = [max(0.0, t - looks.times[start]) for t in looks.times]
    mean, level = math.fsum(ramp) / len(ramp), math.fsum(looks.values) / len(ramp)
    along = math.fsum((r - mean) * (v - level) for r, v in zip(ramp, looks.values, strict=True))
    return along * abs(along) / math.fsum((r - mean) ** 2 for r in ramp)


def doubtful(weighing: Weighing, growth: Fit, shape: Shape) -> SeriesVerdict:
    """Return ``cannot tell`` if neither growth nor its absence is proven."""
    nearly = _nearly_over(weighing, growth) if shape == "filling" else None
    if nearly is not None:
        return nearly
    rate, least = weighing.rate(growth), weighing.detectable(growth)
    more = None
    if 0.0 < rate[0] < least < math.inf:
        # The error of a slope falls with the power 3/2 of the length of a series.
        more = weighing.looks.length * ((least / rate[0]) ** (2.0 / 3.0) - 1.0)
    return weighing.looks.verdict(
        shape, "cannot tell", detectable=least, more_rounds=more, measured=rate
    )


def _nearly_over(weighing: Weighing, growth: Fit) -> SeriesVerdict | None:
    """Return that a curve near its plateau is no leak, however few its generations; else None."""
    found = weighing.plateau()
    if found is None or not weighing.saturates(growth):
        return None
    looks, (plateau, left) = weighing.looks, found
    if left > LITTLE and looks.changes[-1] > LITTLE * max(looks.changes):
        return None
    least = weighing.detectable(weighing.best["wandering"])
    return looks.verdict("filling", "no", plateau=plateau, detectable=least)


def healthy(weighing: Weighing) -> SeriesVerdict:
    """Return the verdict if a benign explanation is accepted, or if none is but growth neither."""
    looks, kind, growth = weighing.looks, weighing.healthiest, weighing.growth
    fit = weighing.best[kind]
    if kind == "wandering" and weighing.rises and growth is not None:
        if max(looks.changes) == looks.changes[-1] and shapes.one_dominates(looks.changes):
            return looks.verdict("step", "cannot tell", detectable=weighing.detectable(growth))
        return doubtful(weighing, growth, "filling" if weighing.slows(growth) else "growing")
    shape, plateau, end = _shape(weighing, kind, fit), None, fit.end or 0
    age = looks.times[-1] - looks.times[end]
    over = len(looks) - end > FEWEST_LOOKS and age >= LITTLE * looks.length
    if kind == "fill":
        full = looks.since(end)
        plateau = Plateau(math.fsum(full.values) / len(full), math.ceil(full.times[0]))
    if kind == "saturation" and (found := weighing.plateau()):
        plateau, over = found[0], found[1] <= LITTLE
    growing: Growing = "no" if over or kind == "wandering" else "cannot tell"
    return looks.verdict(shape, growing, plateau=plateau, detectable=weighing.detectable(fit))


def _shape(weighing: Weighing, kind: Kind, fit: Fit) -> Shape:
    looks = weighing.looks
    quarter = max(1, len(looks) // 4)
    risen = (math.fsum(looks.values[-quarter:]) - math.fsum(looks.values[:quarter])) / quarter
    if kind == "wandering" or risen < FLAT * looks.span:
        return shapes.quiet_shape(looks)
    if kind != "saturation":
        return "filling" if kind == "fill" else "step"
    return "warm-up" if (fit.tau or 0.0) <= WARM_UP * len(looks) else "filling"
