"""Merges a defect that follows from another defect into its cause, to report both as one leak.

A kept pool keeps its threads, and the interpreter keeps a record and a finalizer of each thread. A
kept tensor keeps the nodes of its graph. Weak references come with their referents. A fix of the
first defect fixes all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.knowledge import is_handle, place_of
from leakguard.analysis.row import Row
from leakguard.analysis.tolerance import SAME_COUNT, same
from leakguard.model.census import GRAPH_NODE

# The most objects of one type, such as threads or finalizers, that count as belonging to one
# handle (an object that owns resources, such as a pool of workers). Chosen: a pool with two workers
# per core has 256 workers on a machine with 128 cores.
_MOST_EACH = 256


def joined(defects: Sequence[Row]) -> list[Row]:
    """Return the defects, with each defect that follows from another merged into its cause."""
    causes = {id(d): cause for d in defects if (cause := _cause(d, defects)) is not None}
    return [
        _with(d, [o for o in defects if causes.get(id(o)) is d])
        for d in defects
        if id(d) not in causes
    ]


def _cause(defect: Row, defects: Sequence[Row]) -> Row | None:
    """Return the defect that ``defect`` follows from, which must grow in the same phase."""
    others = (d for d in defects if d is not defect and d.phase == defect.phase)
    if defect.lead.type == GRAPH_NODE and defect.container is None:
        return next((d for d in others if _keeps_graphs(d)), None)
    if defect.container is not None and defect.container.is_weak:
        return next((d for d in others if _is_strong(d) and _comes_with(defect, d)), None)
    if not _is_account(defect):
        return None
    return next((d for d in others if _is_owner(d) and _comes_with(defect, d)), None)


def _keeps_graphs(defect: Row) -> bool:
    return defect.container is not None and defect.container.keeps_graphs


def _is_strong(defect: Row) -> bool:
    """True for a defect with a container that holds its entries by strong references."""
    return defect.container is not None and not defect.container.is_weak


def _is_account(defect: Row) -> bool:
    """True for records that the interpreter keeps in a container of its own."""
    holder = None if defect.container is None else defect.container.holder
    place = None if holder is None else place_of(holder)
    return place is not None and place.account


def _is_owner(defect: Row) -> bool:
    """True for handles, such as pools and writers, in a container of the program."""
    held = defect.container is not None and defect.container.holder is not None
    return held and not _is_account(defect) and is_handle(defect.lead.type)


def _comes_with(defect: Row, owner: Row) -> bool:
    """True if ``defect`` gains a whole number of objects per object of ``owner``."""
    each = (defect.lead.rate or 0.0) / (owner.lead.rate or 1.0)
    whole = round(each)
    return 1 <= whole <= _MOST_EACH and same(each, whole, SAME_COUNT)


def _with(defect: Row, following: Sequence[Row]) -> Row:
    if not following:
        return defect
    beside = (*defect.beside, *(d.lead for d in following))
    sizes = [d.bytes_rate for d in following if d.bytes_rate and d.lead.type != GRAPH_NODE]
    known = [size for size in (defect.bytes_rate, sum(sizes)) if size]
    return replace(defect, beside=beside, bytes_rate=sum(known) if known else None)
