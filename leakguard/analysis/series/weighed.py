"""Makes the verdict on a series whose explanations have been scored."""

from __future__ import annotations

import math

from leakguard.analysis.series import shapes
from leakguard.analysis.series.explanations import Fit, Kind
from leakguard.analysis.series.looks import Looks
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape, Why
from leakguard.analysis.series.wandering import PLACES, WARM_UP
from leakguard.analysis.series.weighing import OVER, Weighing
from leakguard.analysis.tolerance import FEWEST_LOOKS

# If a series is undecided, the verdict gives the number of further samples that would decide
# between growth and no growth, but only up to this number. Chosen: users do not wait for more.
_HORIZON = 400


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
        Why(
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
    """Return ``cannot tell`` if growth scores best but another sign contradicts it."""
    nearly = _nearly_over(weighing, growth) if shape == "filling" else None
    if nearly is not None:
        return nearly
    looks = weighing.looks
    return looks.verdict(
        shape,
        "cannot tell",
        detectable=weighing.detectable(growth),
        more_rounds=weighing.generations(max(2, len(looks) // 4)),
        measured=weighing.rate(growth),
    )


def _nearly_over(weighing: Weighing, growth: Fit) -> SeriesVerdict | None:
    """Return that a curve near its plateau is no leak, however few its generations; else None."""
    plateau = weighing.plateau()
    if plateau is None or not weighing.saturates(growth):
        return None
    looks = weighing.looks
    if plateau.left > OVER and looks.changes[-1] > OVER * max(looks.changes):
        return None
    return looks.verdict(
        "filling",
        "no",
        plateau=Plateau(plateau.value, plateau.round),
        detectable=weighing.detectable(weighing.best["wandering"]),
    )


def healthy(weighing: Weighing) -> SeriesVerdict:
    """Return the verdict if a benign explanation is accepted."""
    looks, kind = weighing.looks, weighing.healthiest
    fit = weighing.best[kind]
    if kind == "wandering" and weighing.rises and weighing.growth is not None:
        return _undecided(weighing, weighing.growth)
    over = _over(weighing, kind, fit)
    return looks.verdict(
        _shape(weighing, kind, fit),
        "no" if over else "cannot tell",
        plateau=_plateau(weighing, kind, fit),
        detectable=weighing.detectable(fit),
        more_rounds=None if over else weighing.generations(max(2, len(looks) // 8)),
    )


def _over(weighing: Weighing, kind: Kind, fit: Fit) -> bool:
    """Return True if what the explanation describes is over, such as a step or a saturation."""
    looks = weighing.looks
    if "saturation" in kind:
        plateau = weighing.plateau()
        return plateau is not None and plateau.left <= OVER
    if kind == "wandering":
        return True
    age = looks.times[-1] - looks.times[fit.end or 0]
    return len(looks) - (fit.end or 0) > FEWEST_LOOKS and age >= shapes.REST * looks.length


def _plateau(weighing: Weighing, kind: Kind, fit: Fit) -> Plateau | None:
    if kind == "fill":
        full = weighing.looks.since(fit.end or 0)
        return Plateau(math.fsum(full.values) / len(full), math.ceil(full.times[0]))
    curve = weighing.plateau() if kind == "saturation" else None
    return None if curve is None else Plateau(curve.value, curve.round)


def _shape(weighing: Weighing, kind: Kind, fit: Fit) -> Shape:
    looks = weighing.looks
    quarter = max(1, len(looks) // 4)
    risen = (math.fsum(looks.values[-quarter:]) - math.fsum(looks.values[:quarter])) / quarter
    if kind == "wandering" or risen < shapes.FLAT * looks.span:
        return shapes.quiet_shape(looks)
    if "saturation" not in kind:
        return "filling" if kind == "fill" else "step"
    return "warm-up" if (fit.tau or 0.0) <= WARM_UP * len(looks) else "filling"


def _undecided(weighing: Weighing, growth: Fit) -> SeriesVerdict:
    """Return the verdict if neither growth nor its absence is proven."""
    looks = weighing.looks
    if max(looks.changes) == looks.changes[-1] and shapes.one_dominates(looks.changes):
        return looks.verdict(
            "step", "cannot tell",
            detectable=weighing.detectable(growth), more_rounds=FEWEST_LOOKS * looks.gap,
        )  # fmt: skip
    slows = weighing.slows(growth)
    if slows and (nearly := _nearly_over(weighing, growth)):
        return nearly
    return looks.verdict(
        "filling" if slows else "growing",
        "cannot tell",
        detectable=weighing.detectable(growth),
        more_rounds=_more_rounds(weighing, growth),
        measured=weighing.rate(growth),
    )


def _more_rounds(weighing: Weighing, growth: Fit) -> float | None:
    """Return how many more generations would decide at the observed rate; None if too many."""
    n = len(weighing.looks)
    rate, _ = weighing.rate(growth)
    for length in range(n + 1, n + _HORIZON):
        if rate > weighing.detectable(growth, length):
            return weighing.generations(length - n)
    return None
