"""Clears healthy growth: one function for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.facts.harmless import Ended, FewBytes, Filled, Harmless, HeldMore
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.sources.types import KINDS
from leakguard.analysis.tolerance import FEWEST_LOOKS, MATERIAL_BYTES
from leakguard.model import Census


def filling_gauge(gauge: Growth) -> Harmless:
    """Clear a gauge that fills towards the capacity that the user gave."""
    filled = Filled(gauge.counts[-1], is_gauge=True)
    return Harmless(gauge.name, "filling", filled, gauge.bound or 0.0, gauge.full_at)


def filling_container(container: Growth) -> Harmless:
    """Clear a container that fills towards a bound of its own."""
    entries = container.judged.series.values[-1] if container.judged is not None else 0.0
    return Harmless(
        container.name,
        "filling",
        Filled(entries),
        plateau=container.bound or 0.0,
        until=container.full_at,
        bytes_per_generation=container.bytes_rate,
    )


def ended(row: LedgerRow) -> Harmless:
    """Clear growth that some looks saw and that then stopped."""
    lead = row.lead
    name = row.held_by or lead.type or lead.name
    last = lead.judged.series.generations[-1] if lead.judged is not None else 0
    return Harmless(name, "step", Ended(last))


def held_more(
    case: Case, rows: Sequence[LedgerRow], cleared: Sequence[Harmless]
) -> Iterator[Harmless]:
    """Clear what containers gained in looks that are too few to tell whether it goes on.

    Everything that grew is told. A container counts here if it could hold all that the program has
    more of one class than at the first look, and each look found more than the one before. Of more
    than ``MATERIAL_BYTES`` live memory tells whether it goes on.
    """
    looks, held = case.timeline.counted_since(None), case.held
    if len(looks) <= FEWEST_LOOKS or not held or held[-1][0] != looks[-1][0]:
        return
    told = {c.metric for c in cleared}
    told |= {str(g.type) for d in rows for g in (d.lead, *d.beside)}
    told |= {str(d.held_by) for d in rows}
    since = looks[0][0]
    for holder in held[-1][1]:
        gained = _gained_in_each(looks, holder.element)
        if not 0 < gained <= holder.entries or told & {holder.path, holder.element}:
            continue
        size = (holder.retained_bytes or 0) * gained / holder.entries
        if 0 < size < MATERIAL_BYTES and _is_own(holder.element):
            told.add(holder.element)
            more = HeldMore(gained, since, size, holder.path)
            yield Harmless(holder.element, "growing", more)


def _gained_in_each(looks: Sequence[tuple[int, Census]], name: str) -> int:
    """Return how many instances a class gained; 0 if a look found no more than the one before."""
    counts = [census.count(name) or 0 for _, census in looks]
    rises = all(after > before for before, after in pairwise(counts))
    return counts[-1] - counts[0] if rises else 0


def _is_own(name: str) -> bool:
    return is_users(name) or name in KINDS


def negligible(row: LedgerRow) -> Harmless:
    """Clear objects that add a few bytes per generation."""
    rate, name = row.bytes_rate or 0.0, row.held_by or row.lead.type or row.lead.name
    return Harmless(name, row.lead.pattern, FewBytes(rate))
