"""Which container gains the survivors: sampled blocks, followed from their objects to holders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from leakguard.capture.births import Survivor, Survivors
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.path_tree import NO_NODE
from leakguard.model.births import Birthplace

#: Returns the memory of an array or tensor that begins at an address, as the walk has it.
MemoryAt = Callable[[int], Any]

# Handed out of a reserve of the interpreter, these have the line of an earlier owner.
_RECYCLED = frozenset(map(id, (float, int, tuple, list, dict)))
# Share of a holder's survivors, in bytes, by which its lines are told without what is recycled.
# Chosen: the entries of a container of records are so small a part of what they hold.
_ENOUGH_SURE = 0.1
# Rounds whose survivors one entry has, on average, in a container that gains an entry for each.
# Chosen: an entry that is made in one round and filled in the next has two; one that itself grows
# has as many as the run.
_MOST_ROUNDS_AN_ENTRY = 2
# Entries that a container must have survivors in before that is asked.
_FEWEST_ENTRIES = 3


class HeldSurvivors:
    """Survivors by the path of the container that gains them."""

    def __init__(
        self,
        graph: Graph,
        survivors: Survivors,
        memory_at: MemoryAt,
        containers: bytes,
        grown: Collection[int],
    ) -> None:
        """Share out the survivors.

        Args:
            graph: the object graph.
            survivors: the sampled blocks that are alive.
            memory_at: finds the memory of arrays and tensors.
            containers: a byte for each path, set where containers lie.
            grown: the paths whose containers looks saw grow.
        """
        self._graph = graph
        self._survivors = survivors
        self._containers = containers
        self._grown = grown
        self._by_path: defaultdict[int, list[tuple[int, Survivor]]] = defaultdict(list)
        self._share(self._found(memory_at))

    def paths(self) -> list[int]:
        """Return the paths that gain survivors, those with the most bytes first."""
        return sorted(self._by_path, key=lambda path: -self._bytes(self._by_path[path]))

    def born(self, path: int) -> tuple[Birthplace, ...]:
        """Return where the survivors that a path gains were made."""
        all_ = self._by_path.get(path, [])
        sure = [entry for entry in all_ if not self._is_recycled(entry[0])]
        enough = self._bytes(sure) >= _ENOUGH_SURE * self._bytes(all_)
        return self._survivors.places(block.row for _, block in (sure if enough else all_))

    def _found(self, memory_at: MemoryAt) -> list[tuple[int, Survivor]]:
        """Return the survivors whose object the walk has seen, with its node."""
        blocks = self._survivors.blocks
        nodes = self._graph.owners([block.address for block in blocks])
        found = []
        for node, block in zip(nodes, blocks, strict=True):
            memory = memory_at(block.address) if node == NO_NODE else None
            at = node if memory is None else self._graph.find(memory)
            if at != NO_NODE:
                found.append((at, block))
        return found

    def _share(self, found: Sequence[tuple[int, Survivor]]) -> None:
        """Give each survivor to the outermost container around it that gains entries."""
        ways = self._graph.ways([node for node, _ in found], self._containers)
        gaining = self._gaining(found, ways)
        for entry, way in zip(found, ways, strict=True):
            grown = [path for path, _ in way if path in self._grown]
            chosen = grown or [path for path, _ in way if path in gaining]
            if chosen:
                self._by_path[chosen[0]].append(entry)

    def _gaining(
        self, found: Sequence[tuple[int, Survivor]], ways: Sequence[list[tuple[int, int]]]
    ) -> set[int]:
        """Return the containers in which each round has entries of its own."""
        rounds: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for (_, block), way in zip(found, ways, strict=True):
            for path, entry in way:
                rounds[path][entry].add(block.row[1])
        return {
            path
            for path, by_entry in rounds.items()
            if len(by_entry) >= _FEWEST_ENTRIES
            and sum(map(len, by_entry.values())) <= _MOST_ROUNDS_AN_ENTRY * len(by_entry)
        }

    def _is_recycled(self, node: int) -> bool:
        return id(type(self._graph.object_at(node))) in _RECYCLED

    @staticmethod
    def _bytes(entries: Sequence[tuple[int, Survivor]]) -> float:
        return sum(block.row[5] for _, block in entries)
