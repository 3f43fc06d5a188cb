"""Finds the kept objects that own memory which no count of objects shows.

A node of a graph has tensors that C code saved, a pool has stacks and pipes, a slice of a table has
what its library allocated, a figure has its pixels, and frozen objects are hidden from the census.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from leakguard.analysis.facts.fix import MemoryBehind
from leakguard.analysis.facts.measured import BehindExtension
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge import is_handle
from leakguard.analysis.live_memory import gained
from leakguard.analysis.row import LedgerRow, with_native


def in_front_of(
    rows: Iterable[LedgerRow], growth: Growth, *, made_elsewhere: bool
) -> LedgerRow | None:
    """Return the row of the objects that own growth of live memory; None if none do.

    Native memory belongs to objects that grow in the same phase, if the phase of both is known. If
    births saw it ``made_elsewhere``, at a line of no row, it does not belong to handles, which
    are known by the names of their classes: births see what they allocate at their own line.
    """
    if growth.kind not in ("autograd", "native"):
        return None
    phases = (growth.phase, None)
    owners = (d for d in rows if _owns_memory(d, made_elsewhere) and (d.phase in phases))
    return next(owners, None)


def with_memory_behind(front: LedgerRow, growth: Growth, rest: float) -> LedgerRow:
    """Return a row with the ``rest`` of the growth of live memory as its own.

    A line of the program asks for what lies behind objects of a library, so none of it is native.
    """
    placed = replace(front, phase=front.phase or growth.phase)
    whole = with_native(placed, (front.bytes_rate or 0.0) + rest, gained(growth))
    if not _is_of_an_extension(front):
        return whole
    holder = None if front.container is None else front.container.holder
    fix = MemoryBehind(front.lead.type or "", holder)
    said = Evidence(growth.name, BehindExtension(growth.name, growth.rate or 0.0))
    evidence = (*front.lead.evidence, said)
    lead = replace(front.lead, evidence=evidence, fix=fix)
    return replace(whole, lead=lead, native_rate=0.0)


def _owns_memory(row: LedgerRow, made_elsewhere: bool) -> bool:
    is_frozen = row.lead.name == "gc_frozen"
    owns = is_frozen or _is_of_an_extension(row) or row.kind == "autograd"
    return owns or (is_handle(row.lead.type) and not made_elsewhere)


def _is_of_an_extension(row: LedgerRow) -> bool:
    holder = None if row.container is None else row.container.holder
    return holder is not None and "extension" in holder.traits
