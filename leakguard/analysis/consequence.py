"""Defects that follow from another one: told with it, and not as leaks of their own.

A pool that is kept keeps its threads, and the interpreter keeps account of each of them and of how
to end it; a tensor that is kept keeps the nodes of its graph; weak references come with what they
refer to. Who mends the first has mended them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.defect import Defect
from leakguard.analysis.knowledge import is_handle, place_of
from leakguard.analysis.tolerance import SAME_COUNT, same
from leakguard.model.census import GRAPH_NODE

# Threads, processes and finalizers that one handle may stand for, at most: a pool has a worker or
# two a core, and three threads. Chosen.
_MOST_EACH = 256


def joined(defects: Sequence[Defect]) -> list[Defect]:
    """Return the defects with each that follows from another beside that one."""
    causes = {id(d): cause for d in defects if (cause := _cause(d, defects)) is not None}
    return [
        _with(d, [o for o in defects if causes.get(id(o)) is d])
        for d in defects
        if id(d) not in causes
    ]


def _cause(defect: Defect, defects: Sequence[Defect]) -> Defect | None:
    """Return the defect that one follows from: in the same phase, and held by the program."""
    others = (d for d in defects if d is not defect and d.phase == defect.phase)
    if defect.lead.type == GRAPH_NODE and defect.container is None:
        return next((d for d in others if _keeps_graphs(d)), None)
    if defect.container is not None and defect.container.is_weak:
        return next((d for d in others if _is_strong(d) and _comes_with(defect, d)), None)
    if not _is_account(defect):
        return None
    return next((d for d in others if _is_owner(d) and _comes_with(defect, d)), None)


def _keeps_graphs(defect: Defect) -> bool:
    return defect.container is not None and defect.container.keeps_graphs


def _is_strong(defect: Defect) -> bool:
    """True for what a container really holds: weak references to it, or to parts, come with it."""
    return defect.container is not None and not defect.container.is_weak


def _is_account(defect: Defect) -> bool:
    """True for what only the interpreter keeps account of, in a place of its own."""
    holder = None if defect.container is None else defect.container.holder
    place = None if holder is None else place_of(holder)
    return place is not None and place.account


def _is_owner(defect: Defect) -> bool:
    """True for handles, such as pools and writers, that lie in a place of the program's own."""
    held = defect.container is not None and defect.container.holder is not None
    return held and not _is_account(defect) and is_handle(defect.lead.type)


def _comes_with(defect: Defect, owner: Defect) -> bool:
    """True where a whole number of them comes with each owner."""
    each = (defect.lead.rate or 0.0) / (owner.lead.rate or 1.0)
    whole = round(each)
    return 1 <= whole <= _MOST_EACH and same(each, whole, SAME_COUNT)


def _with(defect: Defect, following: Sequence[Defect]) -> Defect:
    if not following:
        return defect
    beside = (*defect.beside, *(d.lead for d in following))
    sizes = [d.bytes_rate for d in following if d.bytes_rate and d.lead.type != GRAPH_NODE]
    known = [size for size in (defect.bytes_rate, sum(sizes)) if size]
    return replace(defect, beside=beside, bytes_rate=sum(known) if known else None)
