"""Finds what holds memory that may be released, and how much each statement would release.

In a copy of the process, the references that a statement would remove are removed one statement at
a time. The objects that no root reaches then are what the statement would release. Afterwards the
references are put back. The removed references are kept aside meanwhile, so nothing is freed and no
finalizer runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, get_args

from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.cuts import NOTABLE, Cut, cached_functions, cuts, import_of
from leakguard.capture.heap.graph import MakeGraph
from leakguard.capture.heap.path_tree import NO_NODE
from leakguard.capture.heap.walked_graph import WalkedGraph, walk_graph
from leakguard.model.holding import Holding, HoldingKind, Holdings

_RANKS = get_args(HoldingKind)
# What frees less than this part of the largest that may go is ranked after it, whatever its kind.
# Chosen: a person who looks for memory would not begin with a tenth of it.
_MINOR = 10


def take_holdings(make_graph: MakeGraph) -> Holdings:
    """Return what holds memory that may be released; call it only in a copy of the process."""
    with collector_held():
        total, found = _first_walk(make_graph)
        # Bytes of what no root reaches already. They are subtracted from what each statement
        # releases. They are measured while the cuts wait, which no root reaches either.
        adrift: int | None = None
        for cut in cuts(make_graph):
            without = _released(make_graph, cut)
            if adrift is None:
                adrift = without
            released = without - adrift - cut.kept
            found.append(Holding(cut.kind, cut.what, cut.statement, released, cut.type))
        told = [holding for holding in found if holding.bytes >= NOTABLE]
    return Holdings(tuple(_ranked(told)), total)


def _ranked(told: Sequence[Holding]) -> list[Holding]:
    largest = max((holding.bytes for holding in told if holding.may_go), default=0)

    def order(holding: Holding) -> tuple[bool, bool, int, int]:
        is_minor = holding.may_go and holding.bytes * _MINOR < largest
        return not holding.may_go, is_minor, _RANKS.index(holding.kind), -holding.bytes

    return sorted(told, key=order)


def _garbage(walked: WalkedGraph) -> Holding:
    before, gc = import_of("gc")
    what, statement = "garbage that waits for the collector", f"{before}{gc}.collect()"
    return Holding("cycles", what, statement, walked.garbage_bytes)


def _first_walk(make_graph: MakeGraph) -> tuple[int, list[Holding]]:
    """Return the bytes of all objects, and the garbage and the function caches with theirs."""
    with closing(walk_graph(make_graph, (), sorts_garbage=True)) as walked:
        found = [_garbage(walked)]
        caches = list(cached_functions())
        nodes = [walked.graph.find_at(id(cache)) for _, cache in caches]
        groups = [([node], False) for node in nodes if node != NO_NODE]
        measured = iter(walked.graph.retained(groups))
        for (called, _), node in zip(caches, nodes, strict=True):
            if node != NO_NODE:
                size = next(measured).bytes
                name = called.rpartition("; ")[2]
                found.append(Holding("cache", name, f"{called}.cache_clear()", size))
        return walked.graph.total_bytes(), found


def _released(make_graph: MakeGraph, cut: Cut) -> int:
    """Return the bytes that no root reaches without the references of a cut; put these back."""
    # The walk skips ``aside`` itself. The collector does not track an array, so the walk finds it
    # only in a list of its own.
    aside: list[list[Any]] = [[place.value] for place in cut.places]
    for place in cut.places:
        place.put(None)
    try:
        with closing(walk_graph(make_graph, aside)) as walked:
            return walked.adrift_bytes
    finally:
        for place, kept in zip(cut.places, aside, strict=True):
            place.put(kept[0])
