"""Garbage in cycles that the collector takes in time, and that decides how much memory a run needs.

It is a cost and no leak: memory comes back where the collector has found objects in cycles. The run
needs room for all of them until then.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Evidence, Growth
from leakguard.model.metric import METRICS
from leakguard.model.units import MB, format_bytes

# Collections that free so much: one may be the end of a set-up.
_TIMES = 2
# Bytes, and share of what is alive after a collection, from which on garbage is a cost worth a
# line. Chosen: with half as much again a run needs another machine.
_LARGE, _LARGE_SHARE = 16 * MB, 0.5
# Confidence (0 to 1): the collector may have come by chance when something else was freed.
_CONFIDENCE = 0.9
_FIX = (
    "break the cycles (a weak reference to the parent, or clear it when done), so that objects are "
    "freed at once; a smaller gc.set_threshold() has the collector come earlier"
)


def garbage(case: Case) -> list[Growth]:
    """Return the garbage that waits for the collector, where it is much of what is alive."""
    memory = case.memory()
    collected = case.timeline.metric("gc_collected").by_generation
    if memory is None or memory.grows:
        return []
    points = zip(memory.series.generations, memory.series.values, strict=True)
    known = [(at, size, collected[at]) for at, size in points if at in collected]
    freed = {
        then: (before - after, after)
        for (_, before, freed_before), (then, after, freed_since) in pairwise(known)
        if freed_since > freed_before and before - after >= max(_LARGE, _LARGE_SHARE * after)
    }
    return [_cost(case, memory.series.name, freed)] if len(freed) >= _TIMES else []


def _cost(case: Case, name: str, freed: dict[int, tuple[float, float]]) -> Growth:
    size = median(amount for amount, _ in freed.values())
    left = median(after for _, after in freed.values())
    said = (
        f"garbage in cycles piles up until the collector comes: in {len(freed)} "
        f"generations {METRICS[name].words} fell by about {format_bytes(size)} as it freed objects "
        f"in cycles, and {format_bytes(left)} were left; the run needs room for both"
    )
    return Growth(
        "peak",
        "garbage in cycles",
        "cycles",
        pattern="sawtooth",
        since=min(freed),
        worst="inconclusive",
        evidence=(Evidence("collector", said),),
        confidence=_CONFIDENCE,
        fix=_FIX,
        ruled_out=("no leak: the collector frees it",),
    )
