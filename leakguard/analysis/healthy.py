"""Clears healthy growth: one function, and one wording, for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import Row
from leakguard.analysis.sources.containers import looks_at_holders
from leakguard.analysis.sources.types import KINDS
from leakguard.analysis.tolerance import FEWEST_LOOKS, MATERIAL_BYTES
from leakguard.model import Census, Cleared
from leakguard.model.units import format_bytes


def filling_gauge(gauge: Growth) -> Cleared:
    """Clear a gauge that fills towards the capacity that the user gave."""
    name, bound = gauge.name, gauge.bound or 0.0
    filled = f"{gauge.counts[-1]:,.0f} of {bound:,.0f}"
    if gauge.full_at is None:
        return Cleared(name, "filling", f"{name} fills towards its capacity: {filled}", bound)
    reason = f"{name} fills until generation {gauge.full_at}, then stays: {filled}"
    return Cleared(name, "filling", reason, bound, gauge.full_at)


def filling_container(container: Growth) -> Cleared:
    """Clear a container that fills towards a bound of its own."""
    bound = container.bound or 0.0
    entries = container.judged.series.values[-1] if container.judged is not None else 0.0
    full = container.full_at
    until = "towards its bound" if full is None else f"until generation {full}"
    return Cleared(
        container.name,
        "filling",
        f"{container.name} fills {until}: {entries:,.0f} of {bound:,.0f}",
        plateau=bound,
        until=full,
        bytes_per_generation=container.bytes_rate,
    )


def ended(defect: Row) -> Cleared:
    """Clear growth that some looks saw and that then stopped."""
    lead = defect.lead
    name = defect.held_by or lead.type or lead.name
    last = lead.judged.series.generations[-1] if lead.judged is not None else 0
    return Cleared(
        name,
        "step",
        f"{name} grew until its last inspection, in generation {last}; neither its type's count "
        "nor live memory has grown since",
    )


def held_more(case: Case, defects: Sequence[Row], cleared: Sequence[Cleared]) -> Iterator[Cleared]:
    """Clear what containers gained in looks that are too few to tell whether it goes on.

    Everything that grew is told. A container counts here if it could hold all that the program has
    more of one class than at the first look, and each look found more than the one before. Of more
    than ``MATERIAL_BYTES`` live memory tells whether it goes on.
    """
    looks, held = case.timeline.counted_since(None), looks_at_holders(case)
    if len(looks) <= FEWEST_LOOKS or not held or held[-1][0] != looks[-1][0]:
        return
    told = {c.metric for c in cleared}
    told |= {str(g.type) for d in defects for g in (d.lead, *d.beside)}
    told |= {str(d.held_by) for d in defects}
    since = looks[0][0]
    for holder in held[-1][1]:
        gained = _gained_in_each(looks, holder.element)
        if not 0 < gained <= holder.entries or told & {holder.path, holder.element}:
            continue
        size = (holder.retained_bytes or 0) * gained / holder.entries
        if 0 < size < MATERIAL_BYTES and _is_own(holder.element):
            told.add(holder.element)
            yield Cleared(
                holder.element,
                "growing",
                f"{gained} more since generation {since}, {format_bytes(size)} in all, held by "
                f"{holder.path}: too little here to tell whether it goes on",
            )


def _gained_in_each(looks: Sequence[tuple[int, Census]], name: str) -> int:
    """Return how many instances a class gained; 0 if a look found no more than the one before."""
    counts = [census.count(name) or 0 for _, census in looks]
    rises = all(after > before for before, after in pairwise(counts))
    return counts[-1] - counts[0] if rises else 0


def _is_own(name: str) -> bool:
    return is_users(name) or name in KINDS


def negligible(defect: Row) -> Cleared:
    """Clear objects that add a few bytes per generation."""
    rate, name = defect.bytes_rate or 0.0, defect.held_by or defect.lead.type or defect.lead.name
    after = format_bytes(1000 * rate)
    reason = f"{name} gains {format_bytes(rate)} per generation: {after} after a thousand of them"
    return Cleared(name, defect.lead.pattern, reason)
