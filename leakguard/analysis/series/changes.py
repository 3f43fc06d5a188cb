"""The changes from round to round of a short series: do they prove growth, and do they shrink?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import mul

from leakguard.analysis.series import student
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.theil_sen import median, pairwise_slopes

# The risk of calling a series that only wanders a leak.
RISK = 0.004
# Two equal changes are all that three rounds have: their risk is set so that +16, +16 objects pass.
_RISK_OF_TWO = 0.02
# Variance of a count's change that is always allowed for: +1, +1, +1, +1 is not proof, five are.
_COUNT_VARIANCE = 0.2
# Three changes that shrink by this share a round may be a buffer that fills.
_SLOWING = 0.03
# More changes are called slowing when a fitted parabola ends below this share of its first change,
# and chance bends a line as much in less than one case in five.
_STEADY = 0.8
_MAYBE_SLOWING = 0.2
# Few changes hardly bend by more than chance: any bend is a doubt.
_STEADY_OF_FEW = 0.85
_FEW = 6
# Two or three changes must be this much alike to look steady.
_ALIKE = 0.2
_HORIZON = 60
# A change between these shares of the growth may have the growth in it.
_HIDDEN = (0.75, 4.0)


def risk(changes: int) -> float:
    """Return the risk that so many changes are tested with."""
    return _RISK_OF_TWO if changes == 2 else RISK


def chance(changes: Sequence[float], rounds: Rounds) -> float:
    """Return how probable a mean change this large is when nothing drifts."""
    mean = math.fsum(changes) / len(changes)
    error = standard_error(changes, rounds)
    if mean <= 0.0:
        return 1.0
    tested = student.tail(mean / error if error > 0.0 else math.inf, len(changes) - 1)
    if changes[0] > rounds.noise_floor and all(b > a for a, b in pairwise(changes)):
        # Changes of either sign come positive and in this order once in 2^m m! times.
        return min(tested, 0.5 ** len(changes) / math.factorial(len(changes)))
    return tested


def significant(changes: Sequence[float], rounds: Rounds) -> bool:
    """Return True when the mean change is proven to be positive."""
    return len(changes) > 1 and chance(changes, rounds) <= risk(len(changes))


def standard_error(changes: Sequence[float], rounds: Rounds) -> float:
    """Return the standard error of the mean change."""
    m = len(changes)
    mean = math.fsum(changes) / m
    variance = math.fsum((change - mean) ** 2 for change in changes) / (m - 1) if m > 1 else 0.0
    if rounds.integer:
        variance += _COUNT_VARIANCE
    return math.sqrt(variance / m + 2.0 * (rounds.noise_floor / m) ** 2)


def slowing(changes: Sequence[float], rounds: Rounds) -> bool:
    """Return True when the changes shrink, or might: two or three cannot show that they do not."""
    m = len(changes)
    mean = math.fsum(changes) / m
    if rounds.integer and len(set(changes)) == 1:
        return False
    if m < 4:
        shrinking = -median(pairwise_slopes(changes)) / mean
        uneven = changes[-1] < max(changes) and max(changes) - min(changes) > _ALIKE * mean
        return uneven or shrinking > (_SLOWING if m > 2 else _SLOWING / 3.0)
    first, last, by_chance = curvature(rounds.values[len(rounds) - m - 1 :])
    if m < _FEW:
        return last < _STEADY_OF_FEW * first
    return last < _STEADY * first and by_chance < _MAYBE_SLOWING


def growing_since(changes: Sequence[float], since: int, mean: float) -> int:
    """Return when growth of ``mean`` a round may have begun at the earliest.

    A warm-up on top of the growth is left out of the rate, but the growth was there already.
    """
    while since and _HIDDEN[0] * mean <= changes[since - 1] <= _HIDDEN[1] * mean:
        since -= 1
    return since


def curvature(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the first and the last change of a fitted parabola, and how probable it is by chance.

    The chance is that of a parabola that bends down as much or more on noise around a line.
    """
    n = len(values)
    middle = 0.5 * (n - 1)
    line = [t - middle for t in range(n)]
    level = math.fsum(x * x for x in line) / n
    bow = [x * x - level for x in line]
    rate = math.fsum(map(mul, line, values)) / (level * n)
    bows = math.fsum(map(mul, bow, bow))
    bend = math.fsum(map(mul, bow, values)) / bows
    mean = math.fsum(values) / n
    left = [v - mean - rate * x - bend * b for v, x, b in zip(values, line, bow, strict=True)]
    error = math.sqrt(math.fsum(map(mul, left, left)) / (n - 3) / bows)
    tested = -bend / error if error > 0.0 else math.copysign(math.inf, -bend)
    edge = 2.0 * bend * (middle - 0.5)
    return rate - edge, rate + edge, student.tail(tested, n - 3) if bend else 0.5


def detectable(changes: Sequence[float], rounds: Rounds) -> float:
    """Return the smallest steady change per round that these rounds would have shown."""
    if len(changes) < 2:
        return math.inf
    return student.quantile(risk(len(changes)), len(changes) - 1) * standard_error(changes, rounds)


def more_rounds(changes: Sequence[float], rounds: Rounds) -> int | None:
    """Return how many more rounds like these would prove the observed growth."""
    m = len(changes)
    mean, error = math.fsum(changes) / m, standard_error(changes, rounds)
    if mean <= 0.0 or m < 2:
        return None if m >= 2 else 2
    for more in range(1, _HORIZON):
        scaled = error * math.sqrt(m / (m + more))
        if mean > student.quantile(risk(m + more), m + more - 1) * scaled:
            return max(more, 5 - m)
    return None
