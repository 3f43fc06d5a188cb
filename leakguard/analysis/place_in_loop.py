"""Finds the phase and the start of a defect, from several numbers together."""

from __future__ import annotations

from collections.abc import Iterable

from leakguard.analysis.case import Case, slope
from leakguard.analysis.contribution import Contribution
from leakguard.analysis.growth import Growth
from leakguard.analysis.tolerance import (
    FEWEST_LOOKS,
    MAJORITY,
    NEARLY_ALL,
    SAME_RATE,
    same,
)


def phase_of_memory(case: Case, lead: Growth, size: float) -> str | None:
    """Return the phase that adds live memory, if the objects are most of its growth.

    Most looks count objects only at the end of a generation, but memory is read in each phase.
    ``size`` is the growth of the objects in bytes per generation.
    """
    memory = case.memory()
    if memory is None:
        return None
    share = case.memory_share(lead.since)
    phase = None
    if memory.may_grow and size >= MAJORITY * memory.verdict.rate:
        phase = share.main_phase()
    if phase is None and memory.gains(size):
        # A few generations that freed or took much memory may hide the phase in the mean over the
        # generations. The median (``usual``) ignores these generations.
        phase = Contribution(share.usual).main_phase()
    return phase


def phases_of(
    case: Case,
    phase: str | None,
    group: list[Growth],
    containers: list[Growth],
    before: Iterable[tuple[str, float]] = (),
) -> dict[str, str | None]:
    """Assign each container of a group the phase that adds its gain.

    A type may grow in several phases for different reasons. A container's phase is the one that
    adds as many objects as the container gains entries. If several phases do, the bytes decide. The
    bytes that are already assigned to a phase, here or in ``before``, are subtracted from what the
    phase adds.
    """
    chosen: dict[str, str | None] = {}
    told = list(before)
    for container in sorted(containers, key=lambda c: -(c.bytes_rate or 0.0)):
        size = container.bytes_rate or 0.0
        left = _left(case, container.since, told)
        grown = next((g for g in group if g.name == container.type), None)
        as_many = [] if grown is None else grown.contribution.phases_adding(container.rate or 0.0)
        enough = NEARLY_ALL * size
        fits = as_many or [p for p in left if p and len(containers) > 1 and left[p] >= enough > 0]
        best = min(fits, key=lambda p: (abs(left.get(p, 0.0) - size), -p.count("/")), default=phase)
        if len(containers) == 1 and as_many:
            best = as_many[0]
        chosen[container.name] = best
        told += [] if best is None else [(best, size)]
    return chosen


def _left(case: Case, since: int | None, told: list[tuple[str, float]]) -> dict[str | None, float]:
    """Return the bytes that each phase adds since a generation, less those already assigned.

    A phase adds the median over the generations. If the median is 0, as for a phase that leaks now
    and then, the mean is used.
    """
    share = case.memory_share(since)
    left = {phase: share.usual.get(phase) or mean for phase, mean in share.by_phase.items()}
    for phase, size in told:
        for outer in [p for p in left if p and (phase + "/").startswith(p + "/")]:
            left[outer] -= size
    return left


def loose_start(case: Case, container: Growth) -> int | None:
    """Return when a container began to grow, extrapolated to before its first look."""
    if container.judged is None:
        return container.since
    series = container.judged.series
    if series.values[0] >= series.values[-1]:
        since = memory_start(case)
        return container.since if since is None else since
    rate, looks = container.rate or 0.0, series.generations
    started = looks[0] if container.since is None else container.since
    first = next(iter(case.timeline.ends), None)
    if first is None or rate <= 0 or started > looks[1]:
        return started
    # Go back at this rate from the first look to the generation with zero entries. Some entries may
    # have been there from the start, so the result is never later than ``started``.
    return max(first, min(started, round(looks[0] - series.values[0] / rate + 1)))


def start_with(case: Case, lead: Growth, container: Growth | None) -> int | None:
    """Return when a type began to grow: with its container, if the count rose as fast since then.

    The guard itself creates some objects of builtin types once. These hide the beginning of growth
    in a count, but not in a container.
    """
    if container is None or not container.proven or lead.judged is None or lead.since is None:
        return lead.since
    start, counts = loose_start(case, container), lead.judged.series.by_generation
    before = [g for g in sorted(counts) if start is not None and start <= g < lead.since]
    if len(before) < FEWEST_LOOKS:
        return lead.since
    rose = slope(before, [counts[generation] for generation in before])
    return start if same(rose, lead.rate or 0.0, SAME_RATE) else lead.since


def memory_start(case: Case) -> int | None:
    """Return the generation in which live memory began to grow; the first one if unknown."""
    memory = case.memory()
    if memory is None or not memory.may_grow:
        return None
    first = next(iter(memory.series.generations), None)
    return first if memory.started_at is None else memory.started_at
