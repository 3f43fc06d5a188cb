"""The residue of a loop: of what its rounds made, the part that each of them left behind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from leakguard.model.births import Birthplace, Cohort

# Samples, and cohorts that have some, below which nothing is said. Measured in births of 40 runs
# each: with six a leak is seen that comes to eight sampling intervals, and none that is not there.
_FEWEST = 6
# Cohorts with samples, in a loop of few rounds.
_FEWEST_OF_FEW = 3
# The last rounds may still be at work on what they made, and the first one sets up.
_YOUNG, _SETUP = 2, 1
# Standard deviations beyond which a share or a trend is no chance: one in a hundred, one-sided.
_NO_CHANCE = 2.33
# Share that may be missing of what a third would have if all were equal: "about as much".
_ABOUT = 0.5
# Samples expected in a stretch of rounds in which 19 of 20 times at least one is seen: -ln(0.05).
_SURELY_ONE = 3.0
# Times the mean distance of two samples, in rounds: a longer empty run is the end of the residue.
_LONGEST_GAP = 4.0


@dataclass(frozen=True, slots=True)
class Residue:
    """What the rounds of a loop left behind.

    Attributes:
        rate: bytes per generation that stay, estimated.
        since: the first of the rounds, counted from 0, of which something is known to be left.
        earlier: it may have begun so many rounds before that, unseen for the few samples.
        samples: how many blocks of it were recorded.
        steady: each third of the rounds since then, at least half of all, left about as much. What
            only the later half of a loop has left may be a window that moves with it.
    """

    rate: float
    since: int
    earlier: int
    samples: int
    steady: bool


def residue(places: Iterable[Birthplace], rounds: int, taken: Sequence[int] = ()) -> Residue | None:
    """Return what ``rounds`` rounds left behind at these places; None if too few were sampled.

    ``taken`` is the number of generations that each round stands for; empty if each is one.
    A leak leaves about as much of each round; of a cache that drops what is old nothing is left of
    old rounds, and what was only filled has no young ones.
    """
    cohorts = sorted((c for p in places for c in p.cohorts if c.round >= 0), key=lambda c: c.round)
    if sum(cohort.samples for cohort in cohorts) < _FEWEST:
        return None
    since = _since(cohorts)
    lasted = max(_generations(taken, since, _end(cohorts[-1])), 1)
    kept = [cohort for cohort in cohorts if cohort.round >= since]
    samples = sum(cohort.samples for cohort in kept)
    return Residue(
        sum(cohort.bytes for cohort in kept) / lasted,
        since,
        min(int(_SURELY_ONE * lasted / samples), since),
        samples,
        2 * since <= rounds and _is_steady(cohorts, max(since, _SETUP), rounds, taken),
    )


def _end(cohort: Cohort) -> int:
    return cohort.round + cohort.rounds


def _since(cohorts: Sequence[Cohort]) -> int:
    """Return the first round of those before which nothing was left for long."""
    starts = sorted({cohort.round for cohort in cohorts})
    mean = (starts[-1] - starts[0] + 1) / len(starts)
    since = starts[-1]
    for start in reversed(starts):
        if since - start > _LONGEST_GAP * mean:
            break
        since = start
    return since


def _generations(taken: Sequence[int], first: int, end: int) -> int:
    """Return how many generations the rounds from ``first`` to before ``end`` stand for."""
    told = taken[first:end]
    return sum(told) + end - first - len(told)


def _is_steady(cohorts: Sequence[Cohort], first: int, rounds: int, taken: Sequence[int]) -> bool:
    """Return whether the rounds from ``first`` on left about as much throughout.

    Each of the three thirds of them has at least half of the bytes that it would have if all were
    equal, or no less than chance allows: that of sampling, or that by which neighbouring cohorts
    differ, whichever is more. The last rounds may lack bytes, and what they have too many of says
    nothing yet.
    """
    known = [cohort for cohort in cohorts if cohort.round >= first]
    old = [cohort for cohort in known if _end(cohort) <= rounds - _YOUNG]
    places = len({cohort.round for cohort in old})
    if places < min(_FEWEST, max((rounds - _YOUNG - first) // 2, _FEWEST_OF_FEW)):
        return False
    left = _by_time(known, first, rounds, taken)
    thirds = [math.fsum(part) for part in _thirds(left)]
    expected = math.fsum(left) / 3
    each = max(_generations(taken, first, rounds) / max(rounds - first, 1), 1.0)
    by_sampling = expected * max(c.error**2 / c.bytes for c in old if c.bytes) / each
    steps = [(after - before) ** 2 / 2 for before, after in pairwise(left)]
    by_rounds = len(left) / 3 * math.fsum(steps) / max(len(steps), 1)
    deviation = math.sqrt(max(by_sampling, by_rounds))
    missing = expected - min(thirds)
    return min(thirds) > 0 and missing <= max(_ABOUT * expected, _NO_CHANCE * deviation)


def _by_time(
    cohorts: Sequence[Cohort], first: int, rounds: int, taken: Sequence[int]
) -> list[float]:
    """Return the bytes per generation of all cohorts, the empty ones included.

    A cohort of the last rounds counts with no more than the others have on average.
    """
    width = max(cohort.rounds for cohort in cohorts)
    starts = range(first, max(rounds, first + 1), width)
    left = [0.0] * len(starts)
    for cohort in cohorts:
        left[min((cohort.round - first) // width, len(left) - 1)] += cohort.bytes
    left = [
        size / max(_generations(taken, start, min(start + width, rounds)), 1)
        for size, start in zip(left, starts, strict=True)
    ]
    young = max(len(left) - -(-_YOUNG // width), 1)
    usual = math.fsum(left[:young]) / young
    return [*left[:young], *(min(size, usual) for size in left[young:])]


def _thirds(left: Sequence[float]) -> list[Sequence[float]]:
    """Return three parts of a row, as equal as they can be."""
    count = len(left)
    return [left[part * count // 3 : (part + 1) * count // 3] for part in range(3)]
