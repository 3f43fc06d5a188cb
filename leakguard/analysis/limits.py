"""What a run could not have detected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from leakguard.analysis.balance import is_trifle
from leakguard.analysis.case import Case, Judged
from leakguard.analysis.facts.doubt import (
    Doubt,
    HandlesMayLevelOff,
    MayLevelOff,
    RoseToTheEnd,
    RoseUnseen,
    SlowRise,
    TooFew,
    Unseen,
)
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.pace import adds_up, daily
from leakguard.analysis.tolerance import (
    FEWEST_LOOKS,
    MAJORITY,
    MATERIAL_BYTES,
    NOTABLE_BYTES,
    NOTABLE_COUNTED,
)
from leakguard.model import Finding
from leakguard.model.metric import RESOURCES

#: Values of ``RunInfo.source`` for records with only the memory of a process as a whole.
OUTSIDE = ("outside", "curve")


def undecided(case: Case, cleared: Sequence[Harmless], found: Sequence[Finding]) -> Doubt | None:
    """Return why the run is too short or too noisy to be "stable"; None if it is not.

    Args:
        case: the run.
        cleared: growth in the run that is no leak.
        found: the reported findings, and those that the user ignores.
    """
    memory = case.memory()
    rounds = 0 if memory is None else len(memory.series)
    if memory is None or rounds < FEWEST_LOOKS:
        unmarked = not rounds and case.run.info.source == "guard"
        return TooFew(rounds, FEWEST_LOOKS, unmarked)
    verdict = memory.verdict
    if (slow := _slowly_rising(case, memory, cleared, found)) is not None:
        return slow
    if (unseen := _risen_unseen(memory, cleared, found)) is not None:
        return unseen
    material = MATERIAL_BYTES
    allocated = case.metric("heap_in_use")
    # A smaller undecided rate is reported if the bytes of the C allocator grow for certain. Live
    # memory consists of these bytes and of Python's memory. It is then undecided only because looks
    # add some bytes to Python's memory.
    if allocated is not None and allocated.grows:
        material = NOTABLE_BYTES
    if verdict.growing == "cannot tell" and verdict.rate >= material:
        return MayLevelOff(memory.series.name, verdict.rate, verdict.more_rounds)
    handles = next(filter(None, map(partial(_rising_handles, case), RESOURCES)), None)
    return handles or _rising_when_cut(case, memory, cleared, found)


def _slowly_rising(
    case: Case, memory: Judged, cleared: Sequence[Harmless], found: Sequence[Finding]
) -> SlowRise | None:
    """Report that live memory rises slowly, by much in a day, and that nothing explains it.

    Such a run cannot be called stable, but the growth is too little to be inspected.
    """
    verdict, rate = memory.verdict, memory.verdict.rate
    came_to = memory.series.values[-1] - memory.series.values[0]
    if verdict.growing == "no" or min(rate * len(memory.series), came_to) < NOTABLE_COUNTED:
        return None
    told = [c for c in cleared if not is_trifle(c, memory)]
    if not adds_up(case, rate) or _explained(told, found) >= MAJORITY * rate:
        return None
    return SlowRise(memory.series.name, rate, daily(case, rate) or 0.0, sure=memory.grows)


def _risen_unseen(
    memory: Judged, cleared: Sequence[Harmless], found: Sequence[Finding]
) -> RoseUnseen | None:
    """Report that live memory rose by much in generations of which only the last was measured.

    Whether it rose in one of them, or in each, nothing shows.
    """
    series = memory.series
    lasted = series.generations[-1] - series.generations[-2]
    rose = series.values[-1] - max(series.values[:-1])
    if memory.grows or lasted < FEWEST_LOOKS or rose < MATERIAL_BYTES:
        return None
    told = [c for c in cleared if not is_trifle(c, memory)]
    if _explained(told, found) * lasted >= MAJORITY * rose:
        return None
    return RoseUnseen(series.name, rose, lasted)


def _rising_when_cut(
    case: Case, memory: Judged, cleared: Sequence[Harmless], found: Sequence[Finding]
) -> RoseToTheEnd | None:
    """Report that live memory still rises, unexplained, where the file of an incomplete run ends.

    The look at the end of a complete run counts the objects once more. An incomplete run may end
    long after its last look, so growth that is too small for a leak is not called "stable" there.
    """
    rate, gained = memory.verdict.rate, memory.series.values[-1] - memory.series.values[0]
    if not case.run.is_part or not memory.may_grow or gained < NOTABLE_BYTES:
        return None
    if (
        any(c.metric == memory.series.name for c in cleared)
        or _explained(cleared, found) >= MAJORITY * rate
    ):
        return None
    return RoseToTheEnd(memory.series.name, rate, memory.started_at)


def _explained(cleared: Sequence[Harmless], found: Sequence[Finding]) -> float:
    """Return bytes per generation of healthy growth and findings.

    It is infinite if a filling has no size.
    """
    if any(c.pattern == "filling" and c.bytes_per_generation is None for c in cleared):
        return math.inf
    healthy = sum(item.bytes_per_generation or 0.0 for item in cleared)
    return healthy + sum(finding.bytes_per_generation or 0.0 for finding in found)


def _rising_handles(case: Case, metric: str) -> HandlesMayLevelOff | None:
    """Report threads, files or processes that rose in every generation of a short run."""
    series = case.timeline.metric(metric)
    steps = [after - before for before, after in pairwise(series.values[1:])]
    if len(steps) < FEWEST_LOOKS - 1 or min(steps) <= 0:
        return None
    verdict = case.judge(series, integer=True).verdict
    if verdict.growing != "cannot tell" or not verdict.more_rounds:
        return None
    return HandlesMayLevelOff(metric, verdict.rate, verdict.more_rounds)


def unseen(case: Case, doubt: Doubt | None, least: float | None) -> Unseen:
    """Return what could not be detected in this run.

    ``doubt`` is why the run is undecided. ``least`` is the smallest growth in bytes per generation
    that would be detected.
    """
    memory, info, ends = case.memory(), case.run.info, case.timeline.ends
    return Unseen(
        run=case.run,
        doubt=doubt,
        least=None if memory is None or least is None else (memory.series.name, least),
        from_outside=info.source in OUTSIDE or info.observer is not None,
        counts_objects=case.counts_objects,
        looked=tuple(at for at, end in ends.items() if end.census is not None),
        generations=len(ends),
    )
