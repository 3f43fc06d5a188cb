"""The residue of a loop: the memory that each round made and left behind."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from leakguard.model.births import Birthplace, Cohort

# The fewest samples from which a residue is concluded, and the fewest cohorts with samples from
# which it is called steady. Measured on birth records, 40 runs per case: a leak with eight samples
# on average is found, and no false leak is found.
_ENOUGH_SAMPLES = 6
# A loop may have too few rounds for ``_ENOUGH_SAMPLES`` cohorts. Then at least half of its judged
# rounds must have samples, and at least this many rounds. Chosen.
_FEWEST_OF_FEW = 3
#: The last ``YOUNG`` rounds may still use what they made, so what they left above the average is
#: not counted. The first ``_SETUP`` round sets up, so it is left out. Chosen.
YOUNG, _SETUP = 2, 1
# Standard deviations beyond which a difference is not chance: one in a hundred, one-sided.
_NO_CHANCE = 2.33
# A residue is steady if each third of its rounds left about as much. A third may lack at most this
# share of the bytes of an average third, or more if chance explains it. Chosen.
_ABOUT = 0.5
# A third that left no more than this share of an average third left nothing, whatever chance may
# explain: an interpreter's free lists hand out blocks that were born earlier. Measured: of 478
# steady residues of recorded runs the smallest third has 0.13 of it, and of a full deque of tuples,
# which was accused, 0.002. Chosen between them.
_NONE = 0.02
# The last third must rest on more than one sample: one that stands for many blocks may be a block
# of a full container, whose entries take turns. As many equal samples must leave as little to
# chance. Worth: without it a calm pool was accused in 4 of 6 plays; of 595 recorded runs it changes
# none, 1.5 loses one leak and 2 loses two.
_MORE_THAN_ONE = 1.2
#: If this many samples are expected, at least one is seen with a probability of 95 %. Derived: the
#: number of samples has a Poisson distribution, and -ln(0.05) = 3.0.
SURELY_ONE = 3.0
# The residue begins after the latest gap without samples that is longer than this many times the
# mean distance between two samples. Both are in rounds. Chosen.
_LONGEST_GAP = 4.0


@dataclass(frozen=True, slots=True)
class Residue:
    """What the rounds of a loop left behind.

    Attributes:
        rate: estimated bytes that each generation leaves behind; of a steady residue without the
            first round and the last ones.
        since: the first round, counted from 0, that is known to have left something.
        earlier: how many rounds before ``since`` the residue may have begun, undetected because
            there are few samples.
        samples: how many blocks of the residue were sampled.
        steady: True if the rounds since ``since`` are at least half of all generations, and each
            third of them left about as much. A residue of only the later half may be a sliding
            window.
    """

    rate: float
    since: int
    earlier: int
    samples: int
    steady: bool


def residue(places: Iterable[Birthplace], rounds: int, taken: Sequence[int] = ()) -> Residue | None:
    """Return what ``rounds`` rounds left behind at these places; None if samples are too few.

    ``taken`` is the number of generations that each round stands for; empty if each is one.
    A leak leaves about as much from each generation. A cache that drops old entries leaves nothing
    from old rounds, and a buffer that is full has gained nothing from young rounds.
    """
    cohorts = sorted((c for p in places for c in p.cohorts if c.round >= 0), key=lambda c: c.round)
    if sum(cohort.samples for cohort in cohorts) < _ENOUGH_SAMPLES:
        return None
    since, end = _since(cohorts), _end(cohorts[-1])
    kept = [cohort for cohort in cohorts if cohort.round >= since]
    samples = sum(cohort.samples for cohort in kept)
    missed = min(int(SURELY_ONE * max(generations(taken, since, end), 1) / samples), since)
    lasts = generations(taken, since, rounds) >= generations(taken, 0, since)
    steady = lasts and _is_steady(cohorts, max(since, _SETUP), rounds, taken)
    begin = since
    if steady:
        # What the last rounds made may still be in use, and the first one may have set up for all:
        # the rate is that of the others.
        end = min(rounds - YOUNG, *(c.round for c in kept if _end(c) > rounds - YOUNG), end)
        begin = max([since, *(_end(c) for c in kept if c.round < _SETUP)])
        kept = [cohort for cohort in kept if begin <= cohort.round and _end(cohort) <= end]
    lasted = max(generations(taken, begin, end), 1)
    return Residue(math.fsum(c.bytes for c in kept) / lasted, since, missed, samples, steady)


def _end(cohort: Cohort) -> int:
    return cohort.round + cohort.rounds


def _since(cohorts: Sequence[Cohort]) -> int:
    """Return the first round of the residue: the round after the latest long gap in samples."""
    by_round: defaultdict[int, list[Cohort]] = defaultdict(list)
    for cohort in cohorts:
        by_round[cohort.round].append(cohort)
    starts = sorted(by_round)
    lasted = starts[-1] - starts[0] + 1
    rate = math.fsum(cohort.bytes for cohort in cohorts) / lasted
    since = starts[-1]
    for start in reversed(starts):
        # Fewer blocks are sampled where a program allocates more: each stands for more rounds.
        each = max(cohort.bytes / cohort.samples for cohort in by_round[since])
        if since - start > _LONGEST_GAP * max(lasted / len(starts), each / rate):
            break
        since = start
    return since


def generations(taken: Sequence[int], first: int, end: int) -> int:
    """Return how many generations the rounds from ``first`` to before ``end`` stand for."""
    told = taken[first:end]
    return sum(told) + end - first - len(told)


def _is_steady(cohorts: Sequence[Cohort], first: int, rounds: int, taken: Sequence[int]) -> bool:
    """Return whether the rounds from ``first`` on left about as much throughout.

    Each third of these rounds must have at least half of the bytes that it would have if all thirds
    were equal, or lack no more than chance explains. Chance is the larger of the sampling error and
    the scatter between neighbouring cohorts. The last rounds may lack bytes. Bytes above the
    average in the last rounds are left out, because these rounds may still use them.
    """
    known = [cohort for cohort in cohorts if cohort.round >= first]
    old = [cohort for cohort in known if _end(cohort) <= rounds - YOUNG]
    fewest = min(_ENOUGH_SAMPLES, max((rounds - YOUNG - first) // 2, _FEWEST_OF_FEW))
    if _as_many(old, taken) < fewest:
        return False
    left = _by_time(known, first, rounds, taken)
    thirds = [math.fsum(part) for part in _thirds(left)]
    expected = math.fsum(left) / 3
    each = max(generations(taken, first, rounds) / max(rounds - first, 1), 1.0)
    by_sampling = expected * max(c.error**2 / c.bytes for c in old if c.bytes) / each
    steps = [(after - before) ** 2 / 2 for before, after in pairwise(left)]
    by_rounds = len(left) / 3 * math.fsum(steps) / max(len(steps), 1)
    deviation = math.sqrt(max(by_sampling, by_rounds))
    missing = expected - min(thirds)
    if min(thirds) <= _NONE * expected or missing > max(_ABOUT * expected, _NO_CHANCE * deviation):
        return False
    late = first + 2 * (rounds - first) // 3
    return _equal_samples(c for c in known if _end(c) > late) >= _MORE_THAN_ONE


def _equal_samples(cohorts: Iterable[Cohort]) -> float:
    """Return how many equal samples would leave as little to chance as these do."""
    known = list(cohorts)
    chance = math.fsum(cohort.error**2 for cohort in known)
    whole = math.fsum(cohort.bytes for cohort in known) ** 2
    return whole / chance if chance else math.inf if whole else 0.0


def _as_many(cohorts: Sequence[Cohort], taken: Sequence[int]) -> float:
    """Return how many equal rounds would be as uneven as these are (Kish, 1965).

    A few rounds may leave nearly all bytes, and others a trifle that does not make them regular.
    What differs by the chance of sampling is not uneven, nor is a round of many generations.
    """
    by_round: defaultdict[int, list[Cohort]] = defaultdict(list)
    for cohort in cohorts:
        each = max(generations(taken, cohort.round, _end(cohort)) / cohort.rounds, 1.0)
        cohort = replace(cohort, bytes=cohort.bytes / each, error=cohort.error / each)
        by_round[cohort.round].append(cohort)
    sizes = [math.fsum(c.bytes for c in its) for its in by_round.values()]
    by_chance = math.fsum(c.error**2 for its in by_round.values() for c in its)
    uneven = math.fsum(size**2 for size in sizes) - by_chance
    whole = math.fsum(sizes) ** 2
    return whole / uneven if uneven * len(sizes) > whole else float(len(sizes))


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
        size / max(generations(taken, start, min(start + width, rounds)), 1)
        for size, start in zip(left, starts, strict=True)
    ]
    young = max(len(left) - -(-YOUNG // width), 1)
    usual = math.fsum(left[:young]) / young
    return [*left[:young], *(min(size, usual) for size in left[young:])]


def _thirds(left: Sequence[float]) -> list[Sequence[float]]:
    """Return a sequence in three parts of as equal length as possible."""
    count = len(left)
    return [left[part * count // 3 : (part + 1) * count // 3] for part in range(3)]
