"""Merges a row that follows from another row into its cause, to report both as one leak.

A kept pool keeps its threads, and the interpreter keeps a record and a finalizer of each thread. A
kept tensor keeps the nodes of its graph. Weak references come with their referents. A fix of the
first row fixes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.knowledge import is_handle, place_of
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import SAME_COUNT, same
from leakguard.model.census import GRAPH_NODE


def joined(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Return the rows, with each row that follows from another merged into its cause."""
    causes = {id(d): cause for d in rows if (cause := _cause(d, rows)) is not None}
    return [
        _with(d, [o for o in rows if causes.get(id(o)) is d]) for d in rows if id(d) not in causes
    ]


def _cause(row: LedgerRow, rows: Sequence[LedgerRow]) -> LedgerRow | None:
    """Return the row that ``row`` follows from, which must grow in the same phase."""
    others = (d for d in rows if d is not row and d.phase == row.phase)
    if row.lead.type == GRAPH_NODE and row.container is None:
        return next((d for d in others if _keeps_graphs(d)), None)
    if row.container is not None and row.container.is_weak:
        return next((d for d in others if _is_strong(d) and _comes_with(row, d)), None)
    if not _is_account(row):
        return None
    return next((d for d in others if _is_owner(d) and _comes_with(row, d)), None)


def _keeps_graphs(row: LedgerRow) -> bool:
    return row.container is not None and row.container.keeps_graphs


def _is_strong(row: LedgerRow) -> bool:
    """True for a row with a container that holds its entries by strong references."""
    return row.container is not None and not row.container.is_weak


def _is_account(row: LedgerRow) -> bool:
    """True for records that the interpreter keeps in a container of its own."""
    holder = None if row.container is None else row.container.holder
    place = None if holder is None else place_of(holder)
    return place is not None and place.account


def _is_owner(row: LedgerRow) -> bool:
    """True for handles, such as pools and writers, in a container of the program."""
    held = row.container is not None and row.container.holder is not None
    return held and not _is_account(row) and is_handle(row.lead.type)


def _comes_with(row: LedgerRow, owner: LedgerRow) -> bool:
    """True if ``row`` gains a whole number of objects per object of ``owner``."""
    each = (row.lead.rate or 0.0) / (owner.lead.rate or 1.0)
    whole = round(each)
    return whole >= 1 and same(each, whole, SAME_COUNT)


def _with(row: LedgerRow, following: Sequence[LedgerRow]) -> LedgerRow:
    if not following:
        return row
    beside = (*row.beside, *(d.lead for d in following))
    sizes = [d.bytes_rate for d in following if d.bytes_rate and d.lead.type != GRAPH_NODE]
    known = [size for size in (row.bytes_rate, sum(sizes)) if size]
    return replace(row, beside=beside, bytes_rate=sum(known) if known else None)
