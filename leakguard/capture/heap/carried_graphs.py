"""Finds the tensors that hold the large backward graphs of a walk.

A running sum is one tensor with one more node each time, so no container has more entries. Graphs
of tensors in a container are left to the container.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from leakguard.capture.heap.classes import derives
from leakguard.capture.heap.frameworks import Torch
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.layout import AUTOGRAD
from leakguard.capture.heap.traces import stable_name

# Bytes behind a tensor from which its graph is read.
_LARGE = 65_536
# Backward graphs that are named, and tensors that are read for them. A program that carries graphs
# over has few such tensors, and one that keeps many keeps them in a container. Chosen.
_MOST_GRAPHS, _MOST_HEADS = 3, 32


@dataclass(frozen=True, slots=True)
class CarriedGraphs:
    """The backward graphs of one walk.

    Attributes:
        rooted: how many nodes of the walk have a root.
        containers: the paths of containers.
    """

    graph: Graph
    torch: Torch | None
    rooted: int
    containers: Collection[int]

    def largest(self) -> list[tuple[int, set[int]]]:
        """Return the first tensor of each name that holds a large graph, and the graph's nodes."""
        heads: dict[str, list[int]] = {}
        for tensor in islice(self._heads(), _MOST_HEADS):
            heads.setdefault(stable_name(self.graph, tensor), []).append(tensor)
        behind = [(tensors[0], self.behind(tensors)) for tensors in heads.values()]
        return sorted(behind, key=lambda head: -len(head[1]))[:_MOST_GRAPHS]

    def behind(self, tensors: Sequence[int]) -> set[int]:
        """Return the nodes of the backward graphs that tensors hold."""
        waiting, met = list(tensors), set[int]()
        while waiting:
            nodes = {n for n in self.graph.children(waiting.pop()) if self._is_backward(n)}
            waiting += nodes - met
            met |= nodes
        return met

    def tensor_before(self, node: int) -> int | None:
        """Return the tensor whose backward graph a node belongs to; None for other nodes."""
        chain = self.graph.chain_to(node)
        first = next((i for i, n in enumerate(chain) if self._is_backward(n)), 0)
        return chain[first - 1] if first else None

    def _heads(self) -> Iterator[int]:
        """Yield the tensors with a root that a large backward graph was first reached from."""
        graph, torch = self.graph, self.torch
        for node in graph.heavy(_LARGE) if torch is not None else ():
            if node < self.rooted and torch and derives(type(graph.object_at(node)), torch.kind):
                above = graph.chain_to(node)[-2:]
                in_container = graph.path_of(above[0]) in self.containers
                if not in_container and any(map(self._is_backward, graph.children(node))):
                    yield node

    def _is_backward(self, node: int) -> bool:
        return self.graph.kind_of(node) == AUTOGRAD
