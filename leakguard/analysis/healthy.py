"""Clears healthy growth: one function, and one wording, for each kind."""

from __future__ import annotations

from leakguard.analysis.defect import Defect
from leakguard.analysis.growth import Growth
from leakguard.model import Cleared
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


def ended(defect: Defect) -> Cleared:
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


def negligible(defect: Defect) -> Cleared:
    """Clear objects that add a few bytes per generation."""
    rate, name = defect.bytes_rate or 0.0, defect.held_by or defect.lead.type or defect.lead.name
    after = format_bytes(1000 * rate)
    reason = f"{name} gains {format_bytes(rate)} per generation: {after} after a thousand of them"
    return Cleared(name, defect.lead.pattern, reason)
