"""The bytes that groups of nodes retain, and their shares of bytes that they retain together.

Two kinds of walks follow LeakShare (Vilk & Berger, "BLeak", PLDI 2018). The first starts at the
roots and stops at all groups. The second starts at each group and covers what the first did not
reach. Bytes that several groups reach are split evenly among these groups. A third walk, from all
other groups, finds what one group alone keeps alive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from leakguard.capture.heap.layout import AUTOGRAD, DICT, ELEMENTS, LIST


class Retained(NamedTuple):
    """What a group of nodes alone keeps alive.

    ``share`` also has the group's even share of the bytes that several groups reach.
    """

    bytes: int
    share: float
    objects: int
    graph_nodes: int


class RetainedNodes(Protocol):
    """The parts of a graph that are read here."""

    def __len__(self) -> int: ...
    def roots(self) -> Sequence[int]: ...
    def children(self, node: int) -> Sequence[int]: ...
    def size_of(self, node: int) -> int: ...
    def kind_of(self, node: int) -> int: ...


Group = tuple[Sequence[int], bool]
# Bytes that a container keeps when it is emptied; the rest of its own size is freed.
EMPTY_CONTAINER, EMPTY_ELEMENTS = 64, 224  # bytes
_EMPTY = {LIST: EMPTY_CONTAINER, DICT: EMPTY_CONTAINER, ELEMENTS: EMPTY_ELEMENTS}


class Retention:
    """One measurement; a group is (nodes, whole), see ``Graph.retained``."""

    def __init__(self, graph: RetainedNodes, groups: Sequence[Group]) -> None:
        self._graph = graph
        self._groups = groups
        gates = {node: whole for nodes, whole in groups for node in nodes}
        self._held = bytearray(len(graph))
        self._blocked: set[int] = set()
        self._flood(graph.roots(), self._held, gates, self._blocked)

    def measure(self) -> list[Retained]:
        """Return one result for each group, in the order of the groups."""
        sharers = Counter[int]()
        reached = [self._reached_from(group) for group in self._groups]
        for nodes in reached:
            sharers.update(nodes)
        return [self._result(group, reached, sharers) for group in range(len(reached))]

    def _result(self, group: int, reached: list[list[int]], sharers: Counter[int]) -> Retained:
        graph, (nodes, whole) = self._graph, self._groups[group]
        kept = self._kept_by_others(group) if len(self._groups) > 1 else self._held
        alone = [node for node in reached[group] if not kept[node]]
        slots = 0 if whole else sum(map(self._slots, nodes))
        return Retained(
            bytes=slots + sum(map(graph.size_of, alone)),
            share=slots + sum(graph.size_of(node) / sharers[node] for node in reached[group]),
            objects=len(alone),
            graph_nodes=sum(graph.kind_of(node) == AUTOGRAD for node in alone),
        )

    def _slots(self, node: int) -> int:
        empty = _EMPTY.get(self._graph.kind_of(node))
        return 0 if empty is None else max(0, self._graph.size_of(node) - empty)

    def _reached_from(self, group: Group) -> list[int]:
        marked = bytearray(self._held)
        return self._flood(self._starts(group), marked, {}, set())

    def _kept_by_others(self, group: int) -> bytearray:
        gates = dict.fromkeys(*self._groups[group])
        kept = bytearray(self._held)
        starts = [node for node in self._blocked if node not in gates]
        for position, (nodes, whole) in enumerate(self._groups):
            if position != group and not whole:
                starts += self._starts(([node for node in nodes if self._held[node]], False))
        self._flood(starts, kept, gates, set())
        return kept

    def _starts(self, group: Group) -> list[int]:
        nodes, whole = group
        return list(nodes) if whole else [c for n in nodes for c in self._graph.children(n)]

    def _flood(
        self,
        starts: Iterable[int],
        marked: bytearray,
        gates: dict[int, bool],
        blocked: set[int],
    ) -> list[int]:
        """Mark and return the nodes that are reachable from ``starts``.

        The walk does not enter gates whose value is True; they are added to ``blocked``. Gates
        whose value is False are marked, but the walk does not continue from them.
        """
        found, waiting = [], list(starts)
        while waiting:
            node = waiting.pop()
            if marked[node]:
                continue
            whole = gates.get(node)
            if whole:
                blocked.add(node)
                continue
            marked[node] = 1
            found.append(node)
            if whole is None:
                waiting += self._graph.children(node)
        return found
