"""Rows that come to too little to be reported, unless they may stand for something larger."""

from __future__ import annotations

from leakguard.analysis.case import Case, slope
from leakguard.analysis.claims.metrics import RESOURCES
from leakguard.analysis.entries import keeps_nothing
from leakguard.analysis.healthy import negligible
from leakguard.analysis.knowledge import is_handle
from leakguard.analysis.ledger import RunLedger
from leakguard.analysis.pace import adds_up
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import (
    MAJORITY,
    MATERIAL_BYTES,
    NOTABLE_ENTRIES,
    RECORD_ENTRY,
    RECORDS,
)
from leakguard.model.finding import Kind

_OBJECTS: frozenset[Kind] = frozenset({"instances", "container", "arrays", "tensors"})


def drop_trifles(ledger: RunLedger) -> None:
    """Clear objects that add a few bytes.

    A connection is a small object that owns native memory, and a thread object stands for a
    thread. Small objects, but numbers and texts, are therefore kept if such a resource grows,
    and the largest of them if memory grows unexplained.
    """
    objects = [r for r in ledger.rows if r.kind in _OBJECTS and r.lead.source != "promise"]
    small = [row for row in objects if _is_small(ledger.case, row)]
    if any(growth.kind in RESOURCES for growth in ledger.of("metric")):
        small = [row for row in small if _is_of_leaves(row)]
    if small and len(small) == len(objects) and _memory_is_unexplained(ledger):
        small.remove(max(small, key=lambda row: row.bytes_rate or 0.0))
    ledger.rows = [row for row in ledger.rows if row not in small]
    ledger.cleared += map(negligible, small)


def _is_small(case: Case, row: LedgerRow) -> bool:
    lead, rate = row.lead, row.bytes_rate
    if rate is None or lead.watched is not None or is_handle(lead.type):
        return False
    holder = (row.container or lead).holder
    if holder is not None and "chain" in holder.traits:
        return False  # each entry keeps the previous one: a mistake, and no record of the run
    # Of numbers and texts that lie in entries, the entries are what is recorded.
    counted = (row.container if _is_of_leaves(row) else None) or lead
    whole = counted.rate
    # Few looks may leave the rate open: then the slope decides. One look has no rate but births'.
    if counted.judged is not None and len(counted.judged.series) > 1:
        series = counted.judged.series
        whole = max(counted.judged.verdict.rate, slope(series.generations, series.values))
    if (whole or 0.0) > RECORDS or (whole and rate > RECORD_ENTRY * whole):
        return False
    if whole and rate > NOTABLE_ENTRIES * whole and adds_up(case, rate):
        return False
    rounds = max(case.run.generations, default=0) + 1 - (lead.since or 0)
    return rate < RECORDS * RECORD_ENTRY and rate * rounds < MATERIAL_BYTES


def _is_of_leaves(row: LedgerRow) -> bool:
    """Return whether a row is of numbers or texts, which keep no other object alive."""
    return keeps_nothing(row.lead.type or row.lead.name)


def _memory_is_unexplained(ledger: RunLedger) -> bool:
    memory = ledger.case.memory()
    if memory is None or not memory.grows:
        return False
    held = sum(row.bytes_rate or 0.0 for row in ledger.rows if row.held_by)
    held += sum(one.bytes_per_generation or 0.0 for one in ledger.cleared)
    rest = memory.verdict.rate - held
    rounds = max(ledger.case.run.generations, default=0) + 1 - (memory.started_at or 0)
    matters = rest >= RECORDS * RECORD_ENTRY or rest * rounds >= MATERIAL_BYTES
    return matters and rest >= MAJORITY * memory.verdict.rate
