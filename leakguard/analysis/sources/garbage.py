"""Garbage in cycles that the collector frees, but that increases the memory that a run needs.

This is a cost and not a leak: memory falls whenever the collector has freed objects in cycles.
Until then, the run needs room for all of them.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from leakguard.analysis.case import Case
from leakguard.analysis.facts.measured import WaitingGarbage
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import GARBAGE, MAJORITY, REPEATED, SEEN_AGAIN


def garbage(case: Case) -> list[Growth]:
    """Return the garbage that waits for the collector, if it is large relative to live memory.

    A run that needs half as much memory again needs a larger machine.
    """
    memory = case.memory()
    collected = case.timeline.metric("gc_collected").by_generation
    if memory is None or memory.grows:
        return []
    points = zip(memory.series.generations, memory.series.values, strict=True)
    known = [(at, size, collected[at]) for at, size in points if at in collected]
    freed = {
        then: (before - after, after)
        for (_, before, freed_before), (then, after, freed_since) in pairwise(known)
        if freed_since > freed_before and before - after >= max(GARBAGE, MAJORITY * after)
    }
    return [_cost(case, memory.series.name, freed)] if len(freed) >= REPEATED else []


def _cost(case: Case, name: str, freed: dict[int, tuple[float, float]]) -> Growth:
    size = median(amount for amount, _ in freed.values())
    left = median(after for _, after in freed.values())
    waiting = WaitingGarbage(name, len(freed), size, left)
    return Growth(
        "peak",
        "garbage in cycles",
        "cycles",
        pattern="sawtooth",
        since=min(freed),
        worst="inconclusive",
        evidence=(Evidence("collector", waiting),),
        confidence=SEEN_AGAIN,
        fix="garbage",
        ruled_out=("collector frees",),
    )
