"""Kept objects of a library that stand in front of memory which no count of objects shows.

A slice of a table, a decoder, a handle: a few bytes each, and behind each of them what its library
has allocated. Where they are all that is kept and rises evenly, the memory is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from leakguard.analysis.defect import Defect, with_native
from leakguard.analysis.group import is_exact
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge import BEHIND_ADVICE
from leakguard.analysis.live_memory import gained
from leakguard.analysis.remedy import remedy
from leakguard.analysis.tolerance import FEWEST_LOOKS
from leakguard.model.metric import METRICS
from leakguard.model.units import format_change


def in_front_of(defects: Iterable[Defect], growth: Growth) -> Defect | None:
    """Return the defect of such objects, where it is the only one that rises evenly with memory.

    It rises by a whole number in each look, from the beginning of the growth on.
    """
    kept = [d for d in defects if d.held_by and d.lead.source == "type"]
    soon = (growth.since or 0) + FEWEST_LOOKS
    even = [d for d in kept if is_exact(d.lead) and (d.lead.since or 0) <= soon]
    return even[0] if len(even) == 1 and _is_of_an_extension(even[0]) else None


def with_memory_behind(front: Defect, growth: Growth, rest: float) -> Defect:
    """Return a defect with the ``rest`` of the growth of live memory as its own.

    A line of the program asks for what lies behind the objects, so none of it is native.
    """
    said = (
        f"{METRICS[growth.name].words} grows by {format_change(growth.rate or 0.0)} per "
        "generation from then on, in no counted object, and of all that is kept only these rise"
    )
    holder = None if front.container is None else front.container.holder
    fix = f"{remedy(front.lead.type or '', holder)}; {BEHIND_ADVICE}"
    evidence = (*front.lead.evidence, Evidence(growth.name, said))
    lead = replace(front.lead, evidence=evidence, fix=fix)
    placed = replace(front, lead=lead, phase=front.phase or growth.main_phase)
    whole = with_native(placed, (front.bytes_rate or 0.0) + rest, gained(growth))
    return replace(whole, native_rate=0.0)


def _is_of_an_extension(defect: Defect) -> bool:
    holder = None if defect.container is None else defect.container.holder
    return holder is not None and "extension" in holder.traits
