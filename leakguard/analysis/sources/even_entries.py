"""Containers with a whole number of entries per generation, found by a single late inspection.

An inspection is expensive, so a short run may have only one. If it finds a container with exactly
one entry (or two, or three) per past generation, and the type of its entries rose by as many, the
loop filled the container. Two exact numbers agree, so no series of the container is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.growth import Growth
from leakguard.analysis.sources.containers import GUARDS_OWN, NO_ROOT, growth_of
from leakguard.analysis.tolerance import BEYOND_CHANCE, FEWEST_LOOKS, NEARLY_ALL, OWN_SHARE
from leakguard.model import Census, Holder
from leakguard.model.series import Series


def even_entries(case: Case) -> list[Growth]:
    """Return the containers that gain a whole number of entries per generation.

    This is asked only if there are few inspections: with more, ``containers`` follows them.
    """
    looks = case.held
    counted = case.timeline.counted_since(None)
    if not looks or len(looks) >= FEWEST_LOOKS or len(counted) < 2:
        return []
    rounds = case.run.generations_until(looks[-1][0])
    if rounds < BEYOND_CHANCE:
        return []
    tried = (_even(case, holder, rounds, looks[-1][0], counted) for holder in looks[-1][1])
    found = [container for container in tried if container is not None]
    return [c for c in found if not any(other.holds(c) for other in found)]


def _even(
    case: Case, holder: Holder, rounds: int, last_look: int, counted: list[tuple[int, Census]]
) -> Growth | None:
    each, over = divmod(holder.entries, rounds)
    ours = holder.path.startswith((NO_ROOT, GUARDS_OWN))
    if not each or over or ours or holder.capacity is not None:
        return None
    if case.births.is_late(holder.path) or case.births.is_from_before(holder):
        return None
    size = (holder.retained_bytes or 0) / rounds
    counts = [(at, census.count(holder.element) or 0) for at, census in counted]
    memory = case.memory()
    if memory is not None and memory.grows:
        fits = _fits_memory(memory, size, counts, each)
    else:
        fits = _is_exact(counts, each)
    return _growing(case, holder, last_look, each, size) if fits else None


def _fits_memory(memory: Judged, size: float, counts: Sequence[tuple[int, int]], each: int) -> bool:
    """Return whether live memory grows by what is kept, and a class nearly as fast as it.

    The class must do so in the later half of the looks, too: a window that is full gains no more.
    """
    last, after = counts[-1]
    fast = all(
        after - before >= NEARLY_ALL * each * (last - at)
        for at, before in (counts[0], counts[(len(counts) - 1) // 2])
    )
    return fast and size >= OWN_SHARE * memory.verdict.rate


def _is_exact(counts: Sequence[tuple[int, int]], each: int) -> bool:
    """Return whether each look counted as many more of a class as generations had passed.

    Then the numbers are evidence although the bytes are too few for live memory to show them.
    """
    steps = pairwise(counts)
    return len(counts) >= FEWEST_LOOKS and all(
        after - before == each * (last - first) for (first, before), (last, after) in steps
    )


def _growing(case: Case, holder: Holder, last: int, each: int, size: float) -> Growth:
    first = next(iter(case.timeline.ends), last)
    generations = tuple(range(first, last + 1))
    entries = tuple(float(holder.entries - each * (last - at)) for at in generations)
    judged = case.judge(Series(holder.path, "count", generations, entries), integer=True)
    one = growth_of(case, [(last, holder)])
    return replace(one, rate=float(each), bytes_rate=size, since=first, judged=judged)
