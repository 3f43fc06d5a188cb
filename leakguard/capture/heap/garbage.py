"""How much of what no root reaches is garbage, and how much C code still refers to."""

from __future__ import annotations

import sys

from leakguard.capture.heap.half_built import referents
from leakguard.capture.heap.walked_graph import WalkedGraph

# Of more objects the references are not counted. Chosen, to limit the cost.
_MOST_COUNTED = 300_000


def leave_ring() -> int:
    """Leave one list that only it itself refers to; return its address."""
    ring: list[object] = []
    ring.append(ring)
    return id(ring)


def garbage_bytes(walked: WalkedGraph, ring: int) -> int:
    """Return the bytes of the objects that only garbage refers to, as the collector decides it.

    An object with more references than objects without a root account for is held by C code, and
    so is what it leads to. ``ring`` is the address of a piece of garbage with one reference; it
    tells how many references the graph itself has to each object.
    """
    graph, first = walked.graph, walked.rooted
    probe = graph.find_at(ring)
    if probe < first or len(graph) - first > _MOST_COUNTED:
        return walked.adrift[1]
    own = _references(walked, probe) - 1
    unknown = {node: _references(walked, node) - own for node in range(first, len(graph))}
    for node in list(unknown):
        told = [graph.find_at(id(held)) for held in referents(graph.object_at(node))]
        for below in told or graph.children(node):
            if below in unknown:
                unknown[below] -= 1
    waiting = [node for node, references in unknown.items() if references > 0]
    held = set(waiting)
    while waiting:
        fresh = [b for b in graph.children(waiting.pop()) if b >= first and b not in held]
        held.update(fresh)
        waiting += fresh
    return sum(graph.size_of(node) for node in unknown if node not in held)


def _references(walked: WalkedGraph, node: int) -> int:
    return sys.getrefcount(walked.graph.object_at(node))
