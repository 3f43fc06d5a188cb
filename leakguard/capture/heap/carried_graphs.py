"""Finds the tensors that hold the large backward graphs of a walk.

A running sum of losses is one tensor whose graph gains a node each time, so no container has more
entries. If the tensors lie in a container, their graphs are not reported here, because the
container is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from leakguard.capture.heap.classes import derives
from leakguard.capture.heap.frameworks import Torch
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.layout import AUTOGRAD
from leakguard.capture.heap.path_tree import NO_NODE, PathColumns
from leakguard.capture.heap.traces import stable_name

# A tensor's graph is read if at least this many bytes were first reached through the tensor.
# Chosen.
_LARGE = 65_536
# ``_MOST_GRAPHS`` is the most backward graphs that are reported. To find the largest, the graphs of
# at most ``_MOST_HEADS`` tensors are read. Chosen, small: tensors in containers do not count here,
# and a program keeps few graphs in variables.
_MOST_GRAPHS, _MOST_HEADS = 3, 32


@dataclass(frozen=True, slots=True)
class CarriedGraphs:
    """The backward graphs of one walk.

    Attributes:
        graph: the walked object graph.
        torch: None if torch is not loaded.
        rooted: the number of nodes that are reachable from a root.
        paths: the tree of paths.
        containers: the paths of containers.
        on_devices: some nodes with much memory on a GPU or another device, largest first.
    """

    graph: Graph
    torch: Torch | None
    rooted: int
    paths: PathColumns
    containers: Collection[int]
    on_devices: Sequence[int] = ()
    _known: dict[tuple[int, ...], frozenset[int]] = field(default_factory=dict)
    _heads_above: dict[int, int] = field(default_factory=dict)

    def largest(self) -> list[tuple[int, frozenset[int]]]:
        """Return, for the largest backward graphs, the tensor that holds it and its nodes.

        Tensors of one name count as one: the first tensor, with the nodes of all their graphs.
        """
        heads: dict[str, list[int]] = {}
        for tensor in islice(self._heads(), _MOST_HEADS):
            heads.setdefault(stable_name(self.graph, tensor), []).append(tensor)
        behind = [(tensors[0], self.behind(tensors)) for tensors in heads.values()]
        return sorted(behind, key=lambda head: -len(head[1]))[:_MOST_GRAPHS]

    def behind(self, tensors: Sequence[int]) -> frozenset[int]:
        """Return the nodes of the backward graphs that tensors hold; each graph is read once."""
        asked = tuple(tensors)
        if asked not in self._known:
            self._known[asked] = frozenset(self._searched_behind(asked))
        return self._known[asked]

    def _searched_behind(self, tensors: Sequence[int]) -> set[int]:
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

    def head_above(self, path: int) -> int:
        """Return the path of the tensor in whose backward graph a path lies; NO_NODE if in none."""
        if self.torch is None:
            return NO_NODE
        known, way = self._heads_above, []
        while path != NO_NODE and path not in known:
            way.append(path)
            path = self.paths.parent[path]
        head = known.get(path, NO_NODE)
        for below in reversed(way):
            if head == NO_NODE and self._is_backward(self.paths.sample[below]):
                head = self.paths.parent[below]
            known[below] = head
        return head

    def heads_above(self) -> frozenset[int]:
        """Return the paths of tensors that ``head_above`` has found so far."""
        return frozenset(self._heads_above.values())

    def _heads(self) -> Iterator[int]:
        """Yield the rooted tensors, outside containers and graphs, that led to a large graph."""
        graph, torch = self.graph, self.torch
        if torch is None:
            return
        saving = map(self.tensor_before, self.on_devices)
        large = [*graph.heavy(_LARGE), *(tensor for tensor in saving if tensor is not None)]
        for node in dict.fromkeys(large):
            if node < self.rooted and derives(graph.class_of(node), torch.kind):
                above = graph.chain_to(node)[-2:]
                if graph.path_of(above[0]) in self.containers:
                    continue
                if self.head_above(graph.path_of(node)) != NO_NODE:
                    continue
                if any(map(self._is_backward, graph.children(node))):
                    yield node

    def _is_backward(self, node: int) -> bool:
        return self.graph.kind_of(node) == AUTOGRAD
