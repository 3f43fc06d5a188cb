"""Merges a defect that follows from another defect into its cause, to report both as one leak.

A kept pool keeps its threads, and the interpreter keeps a record and a finalizer of each thread. A
kept tensor keeps the nodes of its graph. Weak references come with their referents. A container of
tuples keeps the lists in them. A fix of the first defect fixes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from leakguard.analysis.defect import Defect
from leakguard.analysis.group import is_programs, known_bytes
from leakguard.analysis.knowledge import is_handle, place_of
from leakguard.analysis.tolerance import MAJORITY, SAME_COUNT, same
from leakguard.model.census import GRAPH_NODE
from leakguard.model.finding import Kind

# The most objects of one type, such as threads or finalizers, that count as belonging to one
# handle (an object that owns resources, such as a pool of workers). Chosen: a pool with two workers
# per core has 256 workers on a machine with 128 cores.
_MOST_EACH = 256
# Kinds whose objects keep buffers or graph memory besides their own bytes, but no other objects.
_OF_NUMBERS: frozenset[Kind] = frozenset({"autograd", "tensors", "arrays"})


def joined(defects: Sequence[Defect]) -> list[Defect]:
    """Return the defects, with each defect that follows from another merged into its cause."""
    causes = {id(d): cause for d in defects if (cause := _cause(d, defects)) is not None}
    return _with_contents(
        _with(d, [o for o in defects if causes.get(id(o)) is d])
        for d in defects
        if id(d) not in causes
    )


def _cause(defect: Defect, defects: Sequence[Defect]) -> Defect | None:
    """Return the defect that ``defect`` follows from, which must grow in the same phase."""
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
    """True for a defect with a container that holds its entries by strong references."""
    return defect.container is not None and not defect.container.is_weak


def _is_account(defect: Defect) -> bool:
    """True for records that the interpreter keeps in a container of its own."""
    holder = None if defect.container is None else defect.container.holder
    place = None if holder is None else place_of(holder)
    return place is not None and place.account


def _is_owner(defect: Defect) -> bool:
    """True for handles, such as pools and writers, in a container of the program."""
    held = defect.container is not None and defect.container.holder is not None
    return held and not _is_account(defect) and is_handle(defect.lead.type)


def _comes_with(defect: Defect, owner: Defect) -> bool:
    """True if ``defect`` gains a whole number of objects per object of ``owner``."""
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


# -- what lies in the entries of a container -------------------------------------------------------


def _with_contents(defects: Iterable[Defect]) -> list[Defect]:
    """Attribute objects without a holder to a container that retains more than its known types.

    A container of tuples retains the lists and numbers in the tuples, which other phases may make.
    The retained bytes that are not yet attributed must cover most of these objects. Each byte is
    attributed once.
    """
    found = list(defects)
    for loose in sorted(filter(_is_content, found), key=lambda d: -(d.bytes_rate or 0.0)):
        holding = max(found, key=_surplus)
        if 0 < MAJORITY * (loose.bytes_rate or 0.0) <= _surplus(holding):
            beside = (*holding.beside, loose.lead, *loose.beside)
            found.remove(loose)
            found[found.index(holding)] = replace(holding, beside=beside)
    return found


def _is_content(defect: Defect) -> bool:
    """True for objects without a container whose class is not the program's.

    Excluded are nodes, which belong to their graph, and handles, whose resources lie in no
    container.
    """
    lead = defect.lead
    loose = lead.source == "type" and defect.container is None
    return loose and not (is_programs(lead) or is_handle(lead.type) or lead.type == GRAPH_NODE)


def _surplus(defect: Defect) -> float:
    """Return the bytes per generation that a container retains beyond its known types."""
    container = defect.container
    if container is None or container.is_weak or container.fills or defect.kind in _OF_NUMBERS:
        return 0.0
    known = known_bytes(g for g in (defect.lead, *defect.beside) if g.source == "type")
    return (container.bytes_rate or 0.0) - known
