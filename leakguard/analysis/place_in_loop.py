"""Finds the phase and the start of a row, from several numbers together."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.contribution import Contribution
from leakguard.analysis.growth import Growth
from leakguard.analysis.tolerance import (
    MAJORITY,
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


def memory_start(case: Case) -> int | None:
    """Return the generation in which live memory began to grow; the first one if unknown."""
    memory = case.memory()
    if memory is None or not memory.may_grow:
        return None
    first = next(iter(memory.series.generations), None)
    return first if memory.started_at is None else memory.started_at


def process_bytes(case: Case, lead: Growth, phase: str | None) -> float | None:
    """Return the growth of the process's memory in a phase, for objects without known sizes."""
    shares = (
        case.contribution(metric, lead.since).by_phase.get(phase, 0.0)
        for metric in ("heap_in_use", "rss")
    )
    return next((share for share in shares if share > 0), None)
