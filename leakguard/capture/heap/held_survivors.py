"""Finds the container that gains each survivor: from a sampled block to its object and holder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from types import MethodType
from typing import Any, NamedTuple

from leakguard.capture.births import Belonging, Survivor, Survivors, scaled, thinned
from leakguard.capture.heap.classes import qualified_name
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.initializers import Initializers
from leakguard.capture.heap.path_tree import ELEMENT, KEY, NO_NODE
from leakguard.model.births import Birthplace

#: Takes the address at which the memory of an array or tensor begins. Returns the object that
#: stands for this memory in the walk, or None.
MemoryAt = Callable[[int], Any]

# Types whose blocks the interpreter keeps in free lists and reuses without an allocation. The
# recorded line of such a block may be the line that made an earlier object in the block.
_RECYCLED = frozenset(map(id, (float, int, tuple, list, dict)))
# The recorded line of a survivor of a recycled type may be wrong. So survivors of these types are
# left out if the others have at least this share of the holder's survivors and of their bytes.
# Chosen, low: in an entry, an instance may have a tenth of the bytes, and its dicts, lists and
# numbers the rest. The line of the instance is reliable, and one line is enough.
_ENOUGH_SURE = 0.1
# A container is gaining if the rounds add entries to it. Its entries then have survivors from at
# most this many different rounds each, on average over the entries. Chosen: an entry that is made
# in one round and filled in the next has survivors from two rounds. An entry that itself grows has
# survivors from every round.
_MOST_ROUNDS_AN_ENTRY = 2
# A container counts as gaining only if at least this many of its entries have survivors. Chosen.
_FEWEST_ENTRIES = 3


# Most survivors of a holder whose way from its entry is asked for, and most steps of it that are
# read, from the survivor on: in a graph of thousands of nodes each is as long as the graph. Chosen:
# the parts of so many are known to a few percent, and objects lie a few steps inside of an entry.
_MOST_ON_WAYS, _LONGEST_WAY = 500, 32


class _OfEntry(NamedTuple):
    """A survivor, its node, and the entry of the container that it is or lies behind."""

    node: int
    block: Survivor
    entry: int


class HeldSurvivors:
    """Survivors by the path of the container that gains them."""

    def __init__(
        self,
        graph: Graph,
        survivors: Survivors,
        memory_at: MemoryAt,
        containers: bytes,
        grown: Collection[int],
        kinds: Sequence[int],
        buffers: Collection[int],
        head_above: Callable[[int], int],
    ) -> None:
        """Share out the survivors.

        Args:
            graph: the object graph.
            survivors: the sampled blocks that are alive.
            memory_at: finds the memory of arrays and tensors.
            containers: a byte for each path; nonzero if containers lie at the path.
            grown: the paths of containers that grew between looks.
            kinds: the kind of the edge that leads to each path.
            buffers: the paths of large strings, byte strings and arrays.
            head_above: finds the path of the tensor in whose backward graph a path lies.
        """
        self._graph = graph
        self._survivors = survivors
        self._containers = containers
        self._grown = grown
        self._kinds = kinds
        self._buffers = buffers
        self._head_above = head_above
        self._initializers = Initializers()
        self._by_path: defaultdict[int, list[_OfEntry]] = defaultdict(list)
        self._all = self._found(memory_at)
        self._share()

    def paths(self) -> tuple[list[int], list[int]]:
        """Return the containers and the buffers that gain survivors, most bytes first."""
        ranked = sorted(self._by_path, key=lambda path: -self._bytes(self._by_path[path]))
        buffers = [path for path in ranked if path in self._buffers]
        return [path for path in ranked if path not in self._buffers], buffers

    def born(self, path: int) -> tuple[Birthplace, ...]:
        """Return where the survivors that a path gains were made."""
        all_ = _some(self._of_larger_memory(self._by_path.get(path, [])))
        # The keys of a dict are made elsewhere than what the dict keeps for them.
        kept = self._mostly(all_, lambda node: not self._is_key(node))
        # The table of the container itself is made anew whenever it is too small.
        entries = [k for k in kept if self._graph.path_of(k.node) != path]
        sure = self._mostly(entries, lambda node: not self._is_recycled(node)) or kept
        # What is left out is made with the rest, as far as is known.
        times = self._bytes(all_) / self._bytes(sure) if sure else 1.0
        return self._survivors.places([self._belonging(survivor, times) for survivor in sure])

    def unheld(self, named: Collection[int], garbage: Container[int]) -> tuple[Birthplace, ...]:
        """Return where the survivors were made that none of the ``named`` paths gains.

        Those of nodes that are ``garbage`` are not among them.
        """
        held = {kept.block.address for path in named for kept in self._by_path.get(path, ())}
        held.update(block.address for node, block in self._all if node in garbage)
        return self._survivors.plain(b for b in self._survivors.blocks if b.address not in held)

    def among(self, nodes: Container[int]) -> tuple[Birthplace, ...]:
        """Return where the survivors of these nodes were made."""
        return self._survivors.plain(block for node, block in self._all if node in nodes)

    def made(
        self, nodes: Container[int], classes: Collection[str]
    ) -> dict[str, tuple[Birthplace, ...]]:
        """Return where instances of these classes were made, of these nodes."""
        by_class: defaultdict[str, list[Belonging]] = defaultdict(list)
        for node, block in self._all:
            cls = self._graph.class_of(node) if node in nodes else None
            if cls is not None and id(cls) not in _RECYCLED and qualified_name(cls) in classes:
                own = self._initializers.of([cls])
                by_class[qualified_name(cls)].append(Belonging(block.row, own, own, is_entry=True))
        return {name: self._survivors.places(blocks) for name, blocks in by_class.items()}

    def _belonging(self, kept: _OfEntry, times: float) -> Belonging:
        node, block, entry = kept
        way = self._graph.chain_to(node, _LONGEST_WAY)
        if entry in way:
            inside = way[way.index(entry) :]
        else:  # the entry lies above, unless the whole way was read
            inside = [entry, *way] if len(way) == _LONGEST_WAY else [node]
        first, *rest = (self._graph.object_at(n) for n in inside)
        # A bound method stands for its object.
        stands_for = [first.__self__] if type(first) is MethodType else []
        of_entry = self._initializers.of(map(type, [first, *stands_for]))
        return Belonging(
            scaled(block.row, times),
            of_entry | self._initializers.of(map(type, rest)),
            of_entry,
            is_entry=node == entry and not self._is_recycled(node),
        )

    def _found(self, memory_at: MemoryAt) -> list[tuple[int, Survivor]]:
        """Return (node, survivor) for each survivor whose object or memory is in the graph."""
        blocks = self._survivors.blocks
        nodes = self._graph.owners([block.address for block in blocks])
        found = []
        for node, block in zip(nodes, blocks, strict=True):
            # Views refer to the memory of an array, too: it is of the array itself.
            memory = memory_at(block.address)
            at = node if memory is None else self._graph.find(memory)
            if at != NO_NODE:
                found.append((at, block))
        return found

    def _share(self) -> None:
        """Assign each survivor to the outermost container around it that grew and gains survivors.

        If there is none, take the outermost that grew between looks, else the outermost that gains,
        else the buffer with a name that it is: a larger one may have taken the place of others. All
        that a backward graph gains is its tensor's.
        """
        found = self._all
        ways = self._graph.ways([node for node, _ in found], self._containers)
        rounds = self._rounds_of_entries(found, ways)
        gaining = {path for path, entries in rounds.items() if _is_gaining(entries.values())}
        for (node, block), way in zip(found, ways, strict=True):
            grown = [step for step in way if step[0] in self._grown]
            gains = [step for step in way if step[0] in gaining]
            both = [step for step in grown if step[0] in gaining]
            # What an entry of many rounds has is gained further in: it may be what all entries
            # refer to, such as the object of a callback.
            own = [
                s
                for s in (*both, *grown, *gains)
                if len(rounds[s[0]][s[1]]) <= _MOST_ROUNDS_AN_ENTRY
            ]
            chosen = own or both or grown or gains
            itself = self._graph.path_of(node)
            path, entry = chosen[0] if chosen else (itself, node)
            head = self._head_above(path)
            if head != NO_NODE:
                self._by_path[head].append(_OfEntry(node, block, node))
            elif chosen:
                self._by_path[path].append(_OfEntry(node, block, entry))
            elif itself in self._buffers and self._kinds[itself] != ELEMENT:
                self._by_path[itself].append(_OfEntry(node, block, node))

    def _rounds_of_entries(
        self, found: Sequence[tuple[int, Survivor]], ways: Sequence[list[tuple[int, int]]]
    ) -> Mapping[int, Mapping[int, set[int]]]:
        """Return, by path and by entry, the rounds in which survivors of the entry were made.

        A block of a recycled type may be of an earlier round than its object: it counts only where
        an entry has no others.
        """
        rounds: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        recycled: list[tuple[int, int, int]] = []
        for (node, block), way in zip(found, ways, strict=True):
            for path, entry in way:
                if self._is_recycled(node):
                    recycled.append((path, entry, block.row[1]))
                else:
                    rounds[path][entry].add(block.row[1])
        known = {(path, entry) for path, entries in rounds.items() for entry in entries}
        for path, entry, round_ in recycled:
            if (path, entry) not in known:
                rounds[path][entry].add(round_)
        return rounds

    def _of_larger_memory(self, kept: list[_OfEntry]) -> list[_OfEntry]:
        """Return the survivors on devices or those of the host, whichever have more bytes."""
        apart: tuple[list[_OfEntry], list[_OfEntry]] = ([], [])
        for survivor in kept:
            apart[survivor.block.is_on_device].append(survivor)
        return max(apart, key=self._bytes)

    def _mostly(self, kept: list[_OfEntry], wanted: Callable[[int], bool]) -> list[_OfEntry]:
        """Return the survivors that are wanted, or all of them if these are too few."""
        chosen = [survivor for survivor in kept if wanted(survivor.node)]
        # A single block may stand for more bytes than a hundred others.
        many = len(chosen) >= _ENOUGH_SURE * len(kept)
        return chosen if many and self._bytes(chosen) >= _ENOUGH_SURE * self._bytes(kept) else kept

    def _is_key(self, node: int) -> bool:
        return self._kinds[self._graph.path_of(node)] == KEY

    def _is_recycled(self, node: int) -> bool:
        return id(self._graph.class_of(node)) in _RECYCLED

    @staticmethod
    def _bytes(kept: Sequence[_OfEntry]) -> float:
        return sum(survivor.block.row[5] for survivor in kept)


def _is_gaining(rounds: Collection[set[int]]) -> bool:
    """Return whether each round has added entries of its own, by the rounds of each entry.

    The entry of most rounds is left out: what all entries refer to is reached through one of them.
    """
    others = sorted(map(len, rounds))[:-1]
    return len(rounds) >= _FEWEST_ENTRIES and sum(others) <= _MOST_ROUNDS_AN_ENTRY * len(others)


def _some(kept: list[_OfEntry]) -> list[_OfEntry]:
    """Return some of many survivors, taken evenly by bytes, which stand for the others.

    Rounds in which few blocks were sampled have few survivors that each stand for much: these stay.
    """
    if len(kept) <= _MOST_ON_WAYS:
        return kept
    each = sum(survivor.block.row[5] for survivor in kept) / _MOST_ON_WAYS
    chosen, passed = [], 0.0
    for node, block, entry in kept:
        times = max(each / block.row[5], 1.0)
        passed += 1 / times
        if passed >= 1:
            passed -= 1
            chosen.append(_OfEntry(node, Survivor(block.address, thinned(block.row, times)), entry))
    return chosen
