"""What no root reaches: which of it is garbage, and which C code still refers to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

from leakguard.capture.heap.half_built import referents

# Of more objects the references are not counted in pure Python, and none counts as garbage. Chosen,
# to limit the cost.
_MOST_COUNTED = 300_000
# References that are no part of the program: the graph's list of objects, and the argument of
# ``getrefcount``.
_OWN = 2


class CountedNodes(Protocol):
    """The parts of a graph that are read here."""

    def __len__(self) -> int: ...
    def object_at(self, node: int) -> Any: ...
    def find_at(self, address: int) -> int: ...
    def children(self, node: int) -> Sequence[int]: ...


def garbage_of(graph: CountedNodes, first: int) -> list[int]:
    """Return the nodes from ``first`` on that only garbage refers to, as the collector decides it.

    An object with more references than objects without a root account for is held by C code, and
    so is what it leads to. ``first`` is the number of nodes that a root leads to.
    """
    if len(graph) - first > _MOST_COUNTED:
        return []
    unknown = {n: sys.getrefcount(graph.object_at(n)) - _OWN for n in range(first, len(graph))}
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
    return [node for node in unknown if node not in held]
