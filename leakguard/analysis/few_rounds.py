"""What 3 to 12 rounds can say: their changes are judged one by one, and doubt is said.

A leak adds about the same each round; a cache, a buffer or a pool adds less and less, or stops.
The claim "it grows" is a t-test that the mean change is positive, which holds its risk even for a
random walk; the claim is withheld while the changes shrink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from operator import mul

from leakguard.analysis import student
from leakguard.analysis.rounds import RISK, Rounds, number
from leakguard.analysis.saturation import fit_saturation
from leakguard.analysis.series_verdict import Plateau, SeriesVerdict
from leakguard.analysis.theil_sen import kendall_score, median, pairwise_slopes

# Two equal changes are all that three rounds have: their risk is set so that +16, +16 objects pass.
_RISK_OF_TWO = 0.02
# Variance of a count's change that is always allowed for: +1, +1, +1, +1 is not proof, five are.
_COUNT_VARIANCE = 0.2
# A size has stopped when it moves by less than this share of the pace before.
_STOPPED = 0.05
_CALMER = 0.3
# Three changes that shrink by this share a round may be a buffer that fills.
_SLOWING = 0.03
# More changes are called slowing when a fitted parabola ends below this share of its first change,
# and chance bends a line as much in less than one case in five.
_STEADY = 0.8
_MAYBE_SLOWING = 0.2
# Changes that are left out as warm-up differ from the others by this factor.
_UNLIKE = 1.6
_NEARLY_DONE = 0.3
_HORIZON = 60


def judge_few(rounds: Rounds, warmup: int) -> SeriesVerdict:
    """Return the verdict on a short series of at least three values that are not all equal."""
    return (
        _falls(rounds)
        or _saws(rounds)
        or _stopped(rounds)
        or (_staircase(rounds) if rounds.integer else None)
        or _steps(rounds)
        or _grows(rounds, warmup)
        or _slows(rounds, warmup)
        or _undecided(rounds, warmup)
    )


def count_pattern(rounds: Rounds) -> SeriesVerdict | None:
    """Return the verdict on counts that speak for themselves, however many rounds there are.

    They stopped for good, or they grow by the same number at even distances.
    """
    return _stopped(rounds) or _staircase(rounds)


def _falls(rounds: Rounds) -> SeriesVerdict | None:
    net = rounds.values[-1] - rounds.values[0]
    if net > rounds.noise_floor or min(rounds.changes) >= 0.0:
        return None
    risen = max(rounds.values) - max(rounds.values[0], rounds.values[-1])
    if risen > 0.5 * rounds.span and risen > rounds.noise_floor:
        back = f"it rose by {number(risen)} and came back"
        shape = "sawtooth" if len(_drops(rounds)) > 1 else "transient"
        return rounds.verdict(
            "sawtooth" if shape == "sawtooth" else "transient",
            "no",
            0.6 if len(rounds) < 5 else 0.8,
            f"{back}: the last of {len(rounds)} rounds is not above the first",
            detectable=_detectable(rounds.changes, rounds),
        )
    return rounds.verdict(
        "flat" if net < -0.5 * rounds.span else "noise",
        "no",
        0.6 if len(rounds) < 5 else 0.8,
        f"the last of {len(rounds)} rounds is not above the first ({number(net)})",
        detectable=_detectable(rounds.changes, rounds),
    )


def _drops(rounds: Rounds) -> list[int]:
    """Return the rounds whose value fell by a good part of the whole range."""
    least = max(0.25 * rounds.span, rounds.noise_floor)
    return [i + 1 for i, change in enumerate(rounds.changes) if change < -least]


def _saws(rounds: Rounds) -> SeriesVerdict | None:
    drops = _drops(rounds)
    if not drops:
        return None
    floors = [rounds.values[0], *(rounds.values[i] for i in drops)]
    after = rounds.values[drops[-1] :]
    shape = "sawtooth" if len(drops) > 1 else "transient"
    level = max(rounds.values[: drops[-1]])
    if max(after) > level + rounds.noise_floor or _rising(floors, rounds.noise_floor):
        return rounds.verdict(
            "sawtooth" if shape == "sawtooth" else "transient",
            "cannot tell",
            0.4,
            f"it fell back at {len(drops)} of {len(rounds)} rounds and rises again: "
            "the floors between the rises do not decide yet",
            more_rounds=len(rounds),
        )
    return rounds.verdict(
        "sawtooth" if shape == "sawtooth" else "transient",
        "no",
        0.7,
        f"it fell back at {len(drops)} of {len(rounds)} rounds and its floors do not rise",
        detectable=_detectable(rounds.changes, rounds),
    )


def _rising(floors: Sequence[float], noise_floor: float) -> bool:
    """Return True when each of at least three floors is above the one before."""
    return len(floors) >= 3 and all(b > a + noise_floor for a, b in pairwise(floors))


def _stopped(rounds: Rounds) -> SeriesVerdict | None:
    """A series that grew and then stood still for longer than it ever paused before."""
    rest = _rest_of_counts(rounds) if rounds.integer else _rest_of_sizes(rounds)
    last = len(rounds.changes) - rest
    if rest < 2 or last < 1 or _significant(rounds.changes[-rest:], rounds):
        return None
    shape = "step" if _one_dominates(rounds.changes) else "filling"
    enough = rest >= 3 or shape == "step"
    return rounds.verdict(
        "step" if shape == "step" else "filling",
        "no" if enough else "cannot tell",
        0.6 + 0.1 * min(rest, 3) if enough else 0.3,
        f"it went from {number(rounds.values[0])} to {number(rounds.values[-1])} and has not grown "
        f"for {rest} rounds",
        plateau=Plateau(rounds.values[-1], last) if shape == "filling" else None,
        detectable=_detectable(rounds.changes[-rest:], rounds),
        more_rounds=None if enough else 1,
    )


def _rest_of_counts(rounds: Rounds) -> int:
    """Return how many rounds a count has stood still, 0 when it paused as long before."""
    moved = [i for i, change in enumerate(rounds.changes) if change]
    if not moved:
        return 0
    pauses = [b - a - 1 for a, b in pairwise((-1, *moved))]
    rest = len(rounds.changes) - 1 - moved[-1]
    return rest if rest > max(pauses) else 0


def _rest_of_sizes(rounds: Rounds) -> int:
    """Return how many rounds a size has moved by a twentieth of what it moved before, at most."""
    changes = rounds.changes
    for rest in range(len(changes) - 1, 1, -1):
        before, after = changes[:-rest], changes[-rest:]
        pace = math.fsum(before) / len(before)
        idle = max(rounds.noise_floor / rest, _STOPPED * pace)
        quiet = max(map(abs, after)) <= max(rounds.noise_floor, _STOPPED * pace)
        if pace <= 0.0 or abs(math.fsum(after)) / rest > idle:
            continue
        if quiet or (rest > 2 and max(map(abs, after)) < _CALMER * min(pace, max(before))):
            values = rounds.values[-rest - 1 :]
            if quiet or 4 * kendall_score(values) <= rest * (rest + 1):
                return rest
    return 0


def _one_dominates(changes: Sequence[float]) -> bool:
    rises = [change for change in changes if change > 0.0]
    return max(rises) >= 0.8 * math.fsum(rises)


def _staircase(rounds: Rounds) -> SeriesVerdict | None:
    """Counts that rise now and then: at even distances that is growth, after three rises."""
    rises = [i + 1 for i, change in enumerate(rounds.changes) if change]
    gaps = [b - a for a, b in pairwise(rises)]
    idle = len(rounds) - 1 - rises[-1]
    if min(rounds.changes) < 0.0 or len(rises) < 2 or min(gaps) < 2:
        return None
    if max(gaps) - min(gaps) > 1 or idle > max(gaps) or rises[0] > max(gaps) + 1:
        return None
    sizes = [rounds.changes[i - 1] for i in rises]
    if max(sizes) > 1.5 * min(sizes):
        return None
    every = f"it grew by {number(sizes[-1])} at every {number(median(sorted(gaps)))} rounds"
    if len(rises) < 3:
        return rounds.verdict(
            "growing", "cannot tell", 0.4, f"{every}, twice so far: a third time would tell",
            more_rounds=max(1, max(gaps) - idle),
        )  # fmt: skip
    return rounds.verdict(
        "growing",
        "yes",
        1.0 - 0.75 / len(rises),
        f"{every}, {len(rises)} times",
        since=rises[0] - 1,
        detectable=min(sizes) / max(gaps),
    )


def _steps(rounds: Rounds) -> SeriesVerdict | None:
    """A series that is noise before and after one jump."""
    if len(rounds) < 5:
        return None
    jump = max(range(len(rounds.changes)), key=rounds.changes.__getitem__)
    others = rounds.changes[:jump] + rounds.changes[jump + 1 :]
    after = rounds.changes[jump + 1 :]
    if rounds.changes[jump] < 4.0 * max(abs(change) for change in others) or len(after) < 3:
        return None
    if (
        _significant(after, rounds)
        or 4 * kendall_score(rounds.values[jump + 1 :]) > len(after) ** 2
    ):
        return None
    return rounds.verdict(
        "step",
        "no",
        0.6 + 0.05 * min(len(after), 6),
        f"it rose once, by {number(rounds.changes[jump])} in round {jump + 1}, and the "
        f"{len(after)} rounds since add {number(math.fsum(after))}",
        detectable=_detectable(after, rounds),
    )


def _grows(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """Growth that the changes prove, the first ``warmup`` of them left out where needed."""
    for since in range(warmup + 1):
        changes = rounds.changes[since:]
        if len(changes) < (2 if since == 0 or rounds.integer else 3):
            break
        if not _set_apart(rounds.changes[:since], changes):
            continue
        risk = _chance(changes, rounds)
        if risk > _risk(len(changes)) / (1 + since) or _slowing(changes, rounds):
            continue
        mean = math.fsum(changes) / len(changes)
        exact = len(set(changes)) == 1
        each = f"exactly {number(mean)}" if exact else f"about {number(mean)}"
        left_out = f" after {since} warm-up rounds" if since else ""
        return rounds.verdict(
            "growing",
            "yes",
            _confidence(len(changes), risk),
            f"it grew by {each} in each of {len(changes)} rounds{left_out}, with no sign of "
            "slowing down",
            since=since,
            detectable=_detectable(changes, rounds),
            ruled_out=("filling or warm-up: the changes do not shrink",),
        )
    return None


def _set_apart(first: Sequence[float], later: Sequence[float]) -> bool:
    """Return True when each of the first changes is unlike the later ones: a warm-up."""
    mean = math.fsum(later) / len(later)
    return not any(mean / _UNLIKE < change < mean * _UNLIKE for change in first)


def _risk(changes: int) -> float:
    return _RISK_OF_TWO if changes == 2 else RISK


def _confidence(changes: int, risk: float) -> float:
    """Two changes are worth 0.6, three 0.75, seven 0.9; less where the test is close."""
    return (1.0 - 0.8 / changes) * (1.0 - 10.0 * risk)


def _chance(changes: Sequence[float], rounds: Rounds) -> float:
    """Return how probable a mean change this large is when nothing drifts."""
    mean = math.fsum(changes) / len(changes)
    error = _error(changes, rounds)
    if mean <= 0.0:
        return 1.0
    return student.tail(mean / error if error > 0.0 else math.inf, len(changes) - 1)


def _significant(changes: Sequence[float], rounds: Rounds) -> bool:
    return len(changes) > 1 and _chance(changes, rounds) <= _risk(len(changes))


def _error(changes: Sequence[float], rounds: Rounds) -> float:
    """Return the standard error of the mean change."""
    m = len(changes)
    mean = math.fsum(changes) / m
    variance = math.fsum((change - mean) ** 2 for change in changes) / (m - 1) if m > 1 else 0.0
    if rounds.integer:
        variance += _COUNT_VARIANCE
    return math.sqrt(variance / m + 2.0 * (rounds.noise_floor / m) ** 2)


def _slowing(changes: Sequence[float], rounds: Rounds) -> bool:
    """Return True when the changes shrink, or might: two or three cannot show that they do not."""
    m = len(changes)
    mean = math.fsum(changes) / m
    if rounds.integer and len(set(changes)) == 1:
        return False
    if m < 4:
        return -median(pairwise_slopes(changes)) / mean > (_SLOWING if m > 2 else _SLOWING / 3.0)
    first, last, chance = _curvature(rounds.values[len(rounds) - m - 1 :])
    return last < _STEADY * first and chance < _MAYBE_SLOWING


def _curvature(values: Sequence[float]) -> tuple[float, float, float]:
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


def _slows(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """Growth that shrinks: a buffer or a cache on its way to a plateau."""
    changes = rounds.changes
    largest = max(changes)
    if min(changes) < -_STOPPED * largest or not _slowing(changes, rounds):
        return None
    recent = max(changes[-2:]) if len(changes) > 3 else changes[-1]
    share = recent / largest
    later = changes[warmup:]
    enough = len(later) >= 3 and math.fsum(later) > 0.0 and _slowing(later, rounds)
    enough = enough and share <= 0.5 and changes[-1] <= _NEARLY_DONE * largest
    return rounds.verdict(
        "filling",
        "no" if enough else "cannot tell",
        0.75 if enough else 0.4,
        f"it still grows, and less each round: {number(changes[0])} at first, "
        f"{number(changes[-1])} in the last of {len(rounds)} rounds",
        plateau=_plateau(rounds) if len(changes) >= 4 else None,
        detectable=_detectable(changes, rounds),
        more_rounds=None if enough else max(2, 7 - len(rounds)),
    )


def _plateau(rounds: Rounds) -> Plateau | None:
    fit = fit_saturation(rounds.values)
    if fit.amplitude <= 0.0 or fit.tau > len(rounds):
        return None
    return Plateau(fit.plateau, fit.reaches(max(0.05 * fit.amplitude, rounds.noise_floor)))


def _undecided(rounds: Rounds, warmup: int) -> SeriesVerdict:
    """Neither growth nor its absence is proven."""
    since = warmup if len(rounds) >= warmup + 4 else 0
    changes = rounds.changes[since:]
    chance = min(_chance(rounds.changes, rounds), _chance(changes, rounds))
    detectable = _detectable(rounds.changes, rounds)
    if chance > 0.1 and len(rounds) >= 5:
        return rounds.verdict(
            "noise",
            "no",
            0.5 + 0.4 * chance,
            f"the changes of {len(rounds)} rounds go both ways or are too uneven for a trend "
            f"(chance alone: {chance:.2f})",
            detectable=detectable,
        )
    return rounds.verdict(
        "growing" if chance <= 0.1 else "noise",
        "cannot tell",
        0.5 - min(0.4, chance),
        f"it rose by {number(rounds.values[-1] - rounds.values[0])} in {len(rounds)} rounds, which "
        "is too little or too uneven to tell growth from settling down",
        detectable=detectable,
        more_rounds=_more_rounds(changes, rounds),
    )


def _detectable(changes: Sequence[float], rounds: Rounds) -> float:
    """Return the smallest steady change per round that these rounds would have shown."""
    if len(changes) < 2:
        return math.inf
    risk = _risk(len(changes))
    return student.quantile(risk, len(changes) - 1) * _error(changes, rounds)


def _more_rounds(changes: Sequence[float], rounds: Rounds) -> int | None:
    """Return how many more rounds like these would prove the observed growth."""
    m = len(changes)
    mean, error = math.fsum(changes) / m, _error(changes, rounds)
    if mean <= 0.0 or m < 2:
        return None if m >= 2 else 2
    for more in range(1, _HORIZON):
        scaled = error * math.sqrt(m / (m + more))
        if mean > student.quantile(_risk(m + more), m + more - 1) * scaled:
            return max(more, 5 - m)
    return None
