"""What 3 to 12 rounds can say: their changes are judged one by one, and doubt is said.

A leak adds about the same each round; a cache, a buffer or a pool adds less and less, or stops.
The claim "it grows" is a t-test that the mean change is positive, which holds its risk even for a
random walk; the claim is withheld while the changes shrink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from leakguard.analysis.series import changes as change
from leakguard.analysis.series.count_pattern import count_pattern, one_dominates, stopped
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.saturation import fit_saturation
from leakguard.analysis.series.theil_sen import kendall_score
from leakguard.analysis.series.verdict import Plateau, SeriesVerdict, Shape

# A size has stopped when it moves by less than this share of the pace before.
_STOPPED = 0.05
_CALMER = 0.3
# Changes that are left out as warm-up differ from the others by this factor; what lies flat before
# a late start, by this one.
_UNLIKE = 1.6
_FLAT = 0.1
# A late start is claimed after so many changes.
_LATE = {True: 3, False: 5}
_NEARLY_DONE = 0.3
# A jump is so many times larger than any other change, and so many others have to speak for growth.
_EVENT = 3.0
_AROUND = 6
_SHRINKING = 0.5
_MUCH = 0.25


def judge_few(rounds: Rounds, warmup: int) -> SeriesVerdict:
    """Return the verdict on a short series of at least three values that are not all equal."""
    return (
        _after_set_up(rounds, warmup)
        or _falls(rounds)
        or _saws(rounds)
        or (count_pattern(rounds) if rounds.integer else _stops(rounds))
        or _steps(rounds)
        or _grows(rounds, warmup)
        or _grows_around_a_jump(rounds)
        or _slows(rounds, warmup)
        or _undecided(rounds, warmup)
    )


def _after_set_up(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """What set-up freed within the warm-up says nothing about the rounds after it."""
    drops = [i for i in _drops(rounds) if i <= min(warmup, len(rounds) - 4)]
    if not drops:
        return None
    later = rounds.since(drops[-1])
    if len(_drops(later)) > 0 or later.span <= rounds.noise_floor:
        return None
    fallen = f"after the fall to {rounds.describe(later.values[0])} in round {drops[-1]}"
    return judge_few(later, warmup).after(drops[-1], fallen)


def _drops(rounds: Rounds) -> list[int]:
    """Return the rounds whose value fell by a good part of the whole range."""
    least = max(_MUCH * rounds.span, rounds.noise_floor)
    return [i for i, fell in enumerate(rounds.changes, 1) if fell < -least]


def _falls(rounds: Rounds) -> SeriesVerdict | None:
    net = rounds.values[-1] - rounds.values[0]
    if net > rounds.noise_floor or min(rounds.changes) >= 0.0:
        return None
    risen = max(rounds.values) - max(rounds.values[0], rounds.values[-1])
    shape: Shape = "flat" if net < -0.5 * rounds.span else "noise"
    reason = f"the last of {len(rounds)} rounds is not above the first ({rounds.describe(net)})"
    if risen > 0.5 * rounds.span and risen > rounds.noise_floor:
        shape = _fallen_shape(rounds)
        reason = f"it rose by {rounds.describe(risen)} and came back: {reason}"
    return rounds.verdict(
        shape,
        "no",
        0.6 if len(rounds) < 5 else 0.8,
        reason,
        detectable=change.detectable(rounds.changes, rounds),
    )


def _fallen_shape(rounds: Rounds) -> Shape:
    return "sawtooth" if len(_drops(rounds)) > 1 else "transient"


def _saws(rounds: Rounds) -> SeriesVerdict | None:
    """A series that falls back: its floors decide, and few floors cannot."""
    drops = _drops(rounds)
    if not drops:
        return None
    floors = [rounds.values[0], *(rounds.values[i] for i in drops)]
    fell = f"it fell back at {len(drops)} of {len(rounds)} rounds"
    highest = max(rounds.values[: drops[-1]])
    overtakes = max(rounds.values[drops[-1] :]) > highest + rounds.noise_floor
    if overtakes or _rising(floors, rounds.noise_floor):
        return rounds.verdict(
            _fallen_shape(rounds),
            "cannot tell",
            0.4,
            f"{fell} and rises again: the floors between the rises do not decide yet",
            more_rounds=len(rounds),
        )
    return rounds.verdict(
        _fallen_shape(rounds),
        "no",
        0.7,
        f"{fell} and its floors do not rise",
        detectable=change.detectable(rounds.changes, rounds),
    )


def _rising(floors: Sequence[float], noise_floor: float) -> bool:
    """Return True when each of at least three floors is above the one before."""
    return len(floors) >= 3 and all(b > a + noise_floor for a, b in pairwise(floors))


def _stops(rounds: Rounds) -> SeriesVerdict | None:
    return stopped(rounds, _rest(rounds))


def _rest(rounds: Rounds) -> int:
    """Return how many rounds a size has moved by a twentieth of its pace before, at most."""
    for rest in range(len(rounds.changes) - 1, 1, -1):
        before, after = rounds.changes[:-rest], rounds.changes[-rest:]
        pace = math.fsum(before) / len(before)
        if pace <= 0.0:
            continue
        idle, largest = max(rounds.noise_floor, _STOPPED * pace), max(map(abs, after))
        if largest <= idle:
            return rest
        net = abs(math.fsum(after)) / rest
        calmer = rest > 2 and largest < _CALMER * min(pace, max(before))
        rising = 4 * kendall_score(rounds.values[-rest - 1 :]) > rest * (rest + 1)
        if calmer and not rising and net <= max(rounds.noise_floor / rest, _STOPPED * pace):
            return rest
    return 0


def _steps(rounds: Rounds) -> SeriesVerdict | None:
    """A series that is noise before and after one jump."""
    if len(rounds) < 5:
        return None
    jump = max(range(len(rounds.changes)), key=rounds.changes.__getitem__)
    others = rounds.changes[:jump] + rounds.changes[jump + 1 :]
    after = rounds.changes[jump + 1 :]
    if rounds.changes[jump] < 4.0 * max(map(abs, others)) or len(after) < 3:
        return None
    rising = 4 * kendall_score(rounds.values[jump + 1 :]) > len(after) ** 2
    if rising or change.significant(after, rounds):
        return None
    return rounds.verdict(
        "step",
        "no",
        0.6 + 0.05 * min(len(after), 6),
        f"it rose once, by {rounds.describe(rounds.changes[jump])} in round {jump + 1}, and the "
        f"{len(after)} rounds since add {rounds.describe(math.fsum(after))}",
        detectable=change.detectable(after, rounds),
    )


def _grows(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """Growth that the changes prove, after a warm-up or a flat start where there is one."""
    for since in range(len(rounds.changes) - 1):
        first, later = rounds.changes[:since], rounds.changes[since:]
        if not _may_start(first, later, rounds, warmup):
            continue
        chance = change.chance(later, rounds)
        tries = 1 + min(since, warmup)
        if chance > change.risk(len(later)) / tries or change.slowing(later, rounds):
            continue
        mean = math.fsum(later) / len(later)
        each = (
            f"exactly {rounds.describe(mean)}"
            if len(set(later)) == 1
            else f"about {rounds.describe(mean)}"
        )
        left_out = f" (the first {since} left out)" if since else ""
        return rounds.verdict(
            "growing",
            "yes",
            # Two changes are worth 0.6, three 0.73, seven 0.89; less where the test is close.
            (1.0 - 0.8 / len(later)) * (1.0 - 10.0 * chance),
            f"it grew by {each} in each of {len(later)} rounds{left_out}, with no sign of "
            "slowing down",
            since=change.growing_since(rounds.changes, since, mean),
            measured=rounds.rate(since),
            detectable=change.detectable(later, rounds),
            ruled_out=("filling or warm-up: the changes do not shrink",),
        )
    return None


def _grows_around_a_jump(rounds: Rounds) -> SeriesVerdict | None:
    """Growth with one event in it, as when a module was imported: proven by all other rounds."""
    changes = rounds.changes
    jump = max(range(len(changes)), key=changes.__getitem__)
    others = changes[:jump] + changes[jump + 1 :]
    if len(others) < _AROUND or changes[jump] < _EVENT * max(map(abs, others)):
        return None
    if min(others) <= 0.0 or change.chance(others, rounds) > change.RISK / len(changes):
        return None
    mean = math.fsum(others) / len(others)
    rest = list(accumulate(others, initial=rounds.values[0]))
    level = Rounds(rest, rounds.integer, rounds.noise_floor, rounds.describe)
    if change.slowing(others, level):
        return None
    return rounds.verdict(
        "growing",
        "yes",
        1.0 - 1.0 / len(others),
        f"beside one jump of {rounds.describe(changes[jump])} it grew by about "
        f"{rounds.describe(mean)} in each of {len(others)} rounds",
        since=0,
        measured=level.rate(0),
        detectable=change.detectable(others, rounds),
        ruled_out=("a step: it grows before and after it",),
    )


def _may_start(first: Sequence[float], later: Sequence[float], rounds: Rounds, warmup: int) -> bool:
    """Return True when growth may have started after the ``first`` changes.

    They are a warm-up, unlike what follows, or a flat start with enough rounds after it.
    """
    mean = math.fsum(later) / len(later)
    if len(first) <= warmup:
        enough = len(later) >= (2 if rounds.integer or not first else 3)
        return enough and not any(mean / _UNLIKE < c < mean * _UNLIKE for c in first)
    flat = all(abs(c) <= max(_FLAT * mean, rounds.noise_floor) for c in first[warmup:])
    unlike = not any(mean / _UNLIKE < c < mean * _UNLIKE for c in first[:warmup])
    return flat and unlike and len(later) >= _LATE[rounds.integer]


def _slows(rounds: Rounds, warmup: int) -> SeriesVerdict | None:
    """Growth that shrinks: a buffer or a cache on its way to a plateau."""
    changes = rounds.changes
    largest = max(changes)
    if min(changes) < -_STOPPED * largest or not change.slowing(changes, rounds):
        return None
    recent = max(changes[-2:]) if len(changes) > 3 else changes[-1]
    later = changes[warmup:]
    still = len(later) >= 3 and math.fsum(later) > 0.0 and change.slowing(later, rounds)
    # A leak behind a long warm-up shrinks too, towards its rate: it must not look nearly over.
    less = still and later[-1] <= _SHRINKING * later[max(0, len(later) - 4)]
    enough = less and recent <= 0.5 * largest and changes[-1] <= _NEARLY_DONE * largest
    return rounds.verdict(
        "filling",
        "no" if enough else "cannot tell",
        0.75 if enough else 0.4,
        f"it still grows, and less each round: {rounds.describe(changes[0])} at first, "
        f"{rounds.describe(changes[-1])} in the last of {len(rounds)} rounds",
        plateau=_plateau(rounds) if len(changes) >= 4 else None,
        detectable=change.detectable(changes, rounds),
        more_rounds=None if enough else max(2, 7 - len(rounds)),
    )


def _plateau(rounds: Rounds) -> Plateau | None:
    fit = fit_saturation(rounds.values)
    if fit.amplitude <= 0.0 or fit.tau > len(rounds):
        return None
    return Plateau(fit.plateau, fit.reaches(max(0.05 * fit.amplitude, rounds.noise_floor)))


def _undecided(rounds: Rounds, warmup: int) -> SeriesVerdict:
    """Neither growth nor its absence is proven."""
    changes = rounds.changes
    later = changes[warmup if len(rounds) >= warmup + 4 else 0 :]
    chance = min(change.chance(changes, rounds), change.chance(later, rounds))
    detectable = change.detectable(changes, rounds)
    risen = rounds.describe(rounds.values[-1] - rounds.values[0])
    if max(changes[-2:]) >= max(changes) > rounds.noise_floor and one_dominates(changes):
        return rounds.verdict(
            "step", "cannot tell", 0.2,
            f"it rose by {rounds.describe(max(changes))} at the end of {len(rounds)} rounds: the "
            "next rounds decide between a step and growth",
            detectable=detectable, more_rounds=3,
        )  # fmt: skip
    if chance > 0.1 and len(rounds) >= 5:
        return rounds.verdict(
            "noise",
            "no",
            0.5 + 0.4 * chance,
            f"it rose by {risen} in {len(rounds)} rounds, by changes that go both ways or are too "
            f"uneven for a trend (chance alone: {chance:.2f})",
            detectable=detectable,
        )
    return rounds.verdict(
        "growing" if chance <= 0.1 else "noise",
        "cannot tell",
        0.5 - min(0.4, chance),
        f"it rose by {risen} in {len(rounds)} rounds, which is too little or too uneven to tell "
        "growth from settling down",
        detectable=detectable,
        more_rounds=change.more_rounds(later, rounds),
    )
