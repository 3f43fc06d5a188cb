"""The residue of a loop: of what its rounds made, the part that each of them left behind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leakguard.model.births import Birthplace, Cohort

# Samples, and cohorts that have some, below which nothing is said. Measured in births of 40 runs
# each: with six a leak is seen that comes to eight sampling intervals, and none that is not there.
_FEWEST = 6
# The last rounds may still be at work on what they made, and the first one sets up.
_YOUNG, _SETUP = 2, 1
# Standard deviations beyond which a share or a trend is no chance: one in a hundred, one-sided.
_NO_CHANCE = 2.33
# Samples that are expected in a stretch of rounds of which one is seen in 19 of 20 cases: -ln(0.05).
_SURELY_ONE = 3.0
# Times the mean distance of two samples, in rounds: a longer empty run is the end of the residue.
_LONGEST_GAP = 4.0


@dataclass(frozen=True, slots=True)
class Residue:
    """What the rounds of a loop left behind.

    Attributes:
        rate: bytes a round that stay, estimated.
        since: the first of the rounds, counted from 0, of which something is known to be left.
        earlier: it may have begun so many rounds before that, unseen for the few samples.
        samples: how many blocks of it were recorded.
        steady: each third of the rounds since then left about as much, so that it goes on.
    """

    rate: float
    since: int
    earlier: int
    samples: int
    steady: bool


def residue(places: Iterable[Birthplace], rounds: int) -> Residue | None:
    """Return what ``rounds`` rounds left behind at these places; None where too few were sampled.

    A leak leaves about as much of each round; of a cache that drops what is old nothing is left of
    old rounds, and what was only filled has no young ones.
    """
    cohorts = sorted((c for p in places for c in p.cohorts if c.round >= 0), key=lambda c: c.round)
    if sum(cohort.samples for cohort in cohorts) < _FEWEST:
        return None
    since = _since(cohorts)
    judged = [c for c in cohorts if max(since, _SETUP) <= c.round and _end(c) <= rounds - _YOUNG]
    lasted = max(_end(cohorts[-1]) - since, 1)
    kept = [cohort for cohort in cohorts if cohort.round >= since]
    samples = sum(cohort.samples for cohort in kept)
    return Residue(
        sum(cohort.bytes for cohort in kept) / lasted,
        since,
        min(int(_SURELY_ONE * lasted / samples), since),
        samples,
        _is_steady(judged, max(since, _SETUP), rounds - _YOUNG),
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


def _is_steady(cohorts: Sequence[Cohort], first: int, last: int) -> bool:
    """Return whether rounds from ``first`` to before ``last`` left about as much throughout."""
    samples = sum(cohort.samples for cohort in cohorts)
    places = len({cohort.round for cohort in cohorts})
    if samples < _FEWEST or places < min(_FEWEST, max((last - first) // 2, 3)):
        return False
    thirds = [0.0, 0.0, 0.0]
    for cohort in cohorts:
        middle = cohort.round + (cohort.rounds - 1) / 2
        thirds[min(int(3 * (middle - first) / max(last - first, 1)), 2)] += cohort.samples
    spread = _scatter(cohorts, first, last)
    deviation = math.sqrt(spread * samples * 2 / 9)
    return min(thirds) > 0 and (samples / 3 - min(thirds)) <= _NO_CHANCE * deviation


def _scatter(cohorts: Sequence[Cohort], first: int, last: int) -> float:
    """Return the variance of the samples of a round over their mean, 1 at least."""
    counts = [0.0] * max(last - first, 1)
    for cohort in cohorts:
        for at in range(cohort.round - first, min(_end(cohort) - first, len(counts))):
            counts[at] += cohort.samples / cohort.rounds
    mean = sum(counts) / len(counts)
    variance = sum((count - mean) ** 2 for count in counts) / len(counts)
    return max(variance / mean, 1.0) if mean > 0 else 1.0
