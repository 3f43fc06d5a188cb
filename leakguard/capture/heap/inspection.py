"""An inspection: the object graph is walked once, answers every question, and is released."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice

from leakguard.capture.births import Survivors
from leakguard.capture.heap.additions import Additions
from leakguard.capture.heap.carried_graphs import CarriedGraphs
from leakguard.capture.heap.classes import qualified_name
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.heap.cycle import cycles_among, types_of
from leakguard.capture.heap.device_memory import DeviceMemory
from leakguard.capture.heap.graph import MakeGraph
from leakguard.capture.heap.growth import PathGrowth, PathMemory
from leakguard.capture.heap.held_survivors import HeldSurvivors
from leakguard.capture.heap.large_objects import large_in
from leakguard.capture.heap.named_holders import NamedHolders
from leakguard.capture.heap.path_tree import NAMESPACE, NO_NODE
from leakguard.capture.heap.result import Held, Inspection
from leakguard.capture.heap.walked_graph import WalkedGraph, walk_graph
from leakguard.model.births import Birthplace
from leakguard.model.holder import ELEMENT, Holder

# A container that has not grown is named only if at least this many bytes were first reached
# through it. Chosen.
_WORTH_NAMING = 100_000
# From this size in bytes on, the growth of strings, byte strings and arrays is followed.
_BUFFER = 65_536
# An inspection also names the containers through which the most bytes were first reached: at most
# this many times ``limit``, which is 10 by default. Chosen: six to ten of the 20 largest containers
# belong to the interpreter and to libraries. So at least ten of them can be the program's.
_BY_WEIGHT = 2
_SEVERAL = 2
# Of so many of the largest buffers on a GPU it is asked whether a backward graph has saved them.
# Chosen, small: a chain that leads to one may be a hundred thousand nodes long.
_LARGEST = 20


def take_inspection(
    make_graph: MakeGraph,
    engine: str,
    memory: PathMemory,
    targets: Sequence[int],
    large: int,
    limit: int,
    suspects: Sequence[str] = (),
    tell_cycles: Callable[[int, int], bool] | None = None,
    survivors: Callable[[], Survivors | None] | None = None,
    *,
    seconds: float = math.inf,
    read_source: bool = False,
) -> Inspection:
    """Walk the object graph and return who holds what; see ``leakguard.capture.heap.inspect``."""
    start, until = time.perf_counter(), time.thread_time() + seconds
    with (
        collector_held(),
        closing(walk_graph(make_graph, (), borrows=True, sorts_garbage=True)) as walked,
    ):
        graph, frameworks = walked.graph, walked.frameworks
        with frameworks.quiet():
            garbage, garbage_bytes = walked.garbage, walked.garbage_bytes
            look = _Questions(walked, limit)
            born = None if survivors is None else survivors()
            holders, after, growing = look.holders(memory, suspects, born, until)
            answers = look.held(targets)
            large_objects = large_in(graph, frameworks, large, limit)
            wanted = tell_cycles is not None and tell_cycles(len(garbage), garbage_bytes)
            cycles = cycles_among(graph, garbage) if wanted else None
            garbage_types = types_of(graph, garbage) if wanted else {}
            made_garbage = look.made_garbage(cycles or ())
        found = Inspection(
            holders=holders,
            growing=growing,
            large=large_objects,
            held=answers,
            memory=after,
            objects=len(graph),
            bytes=graph.total_bytes(),
            garbage=len(garbage),
            garbage_bytes=garbage_bytes,
            cycles=cycles,
            garbage_types=garbage_types,
            made_garbage=made_garbage,
            unheld=look.unheld(),
            born_garbage=look.born_garbage() if wanted else (),
            seconds=time.perf_counter() - start,
            engine=engine,
        )
    # The walk holds nothing any more: files are read now, and other threads may run meanwhile.
    # Who holds what must not be lost for the lines: half of the time that is left is for them.
    left = until - time.thread_time()
    return replace(found, holders=_with_lines(holders, left / 2)) if read_source else found


def _with_lines(holders: Sequence[Holder], seconds: float) -> tuple[Holder, ...]:
    """Add the lines of the program that add to each holder."""
    source = Additions(seconds=seconds)

    def added(holder: Holder) -> tuple[str, ...]:
        whole = not holder.path.endswith(ELEMENT)
        return source.of(holder.trace, chain="chain" in holder.traits, whole=whole)

    return tuple(replace(holder, kept_at=added(holder)) for holder in holders)


def take_memory(make_graph: MakeGraph) -> PathMemory:
    """Walk the object graph for the first time; return the memory for the next look."""
    with collector_held(), closing(walk_graph(make_graph, (), borrows=True)) as walked:
        look = _Questions(walked, 0)
        after, _ = look.remember(PathMemory())
        return after


class _Questions:
    """Answers the questions of one inspection from one walked graph."""

    def __init__(self, walked: WalkedGraph, limit: int) -> None:
        graph, frameworks, rooted = walked.graph, walked.frameworks, walked.rooted
        self._graph = graph
        self._garbage = frozenset(walked.garbage)
        self._frameworks = frameworks
        self._memory_at = walked.adapters.memory_at
        self._devices = DeviceMemory(graph, walked.adapters.on_devices())
        self._limit = limit
        self._paths = graph.path_columns()
        self._containers = graph.containers()
        self._at_container = frozenset(self._containers)
        self._buffers = self._large_leaves()
        self._carried = CarriedGraphs(
            graph,
            frameworks.torch,
            rooted,
            self._paths,
            self._at_container,
            self._devices.largest(_LARGEST),
        )
        self._named = NamedHolders(walked, self._paths, self._buffers, self._devices)
        self._suspects: list[int] = []  # one node of each growing class
        self._survivors: HeldSurvivors | None = None
        self._places: list[int] = []  # the paths of all holders

    def holders(
        self,
        memory: PathMemory,
        suspects: Sequence[str],
        survivors: Survivors | None,
        until: float,
    ) -> tuple[tuple[Holder, ...], PathMemory, dict[str, PathGrowth]]:
        """Return the containers worth naming, the memory for the next look, and growth by path.

        Who holds what must not be lost for the births: half of the CPU time until ``until`` is for
        them.
        """
        after, grown = self.remember(memory)
        kept = self._survivors = self._kept(survivors, grown)
        on_devices = self._devices.by_path(self._are_containers())
        large = [path for path, size in on_devices.most_common() if size >= _WORTH_NAMING]
        gaining = ([], []) if kept is None else kept.paths()
        chosen = self._by_graph(self._chosen(grown, suspects, (*gaining, large)))
        self._places = [place for place, _, _ in chosen]
        members = self._graph.members(self._places)
        heads = self._carried.heads_above()
        # If several tensors hold a graph, none of them alone retains it, but its nodes do.
        groups = [
            (list(self._carried.behind(nodes)), True) if place in heads else (nodes, False)
            for (place, _, _), nodes in zip(chosen, members, strict=True)
        ]
        measured = self._graph.retained(groups)
        ranked = sorted(
            zip(chosen, groups, measured, strict=True),
            key=lambda entry: (entry[0][2] is None, -entry[2].share),
        )
        holders, growing = [], {}
        enough = (time.thread_time() + until) / 2
        for (place, path, growth), (nodes, is_graph), retained in ranked:
            if is_graph:
                tensor = self._paths.sample[place]
                holder = self._named.of_graph(tensor, nodes, retained)
                holder = self._named.longer(holder, path, growth)
            else:
                holder = self._named.at(path, nodes, retained, growth, self._suspects)
            if on_devices[path] and holder.device_bytes is None:
                holder = replace(holder, device_bytes=on_devices[path])
            if kept is not None and time.thread_time() < enough:
                holder = replace(holder, born=kept.born(place))
            holders.append(holder)
            if growth is not None:
                growing[holder.path] = growth
        known = {holder.path for holder in holders}
        holders += [graph for graph in self._graphs() if graph.path not in known]
        return tuple(holders), after, growing

    def unheld(self) -> tuple[Birthplace, ...]:
        """Return where what none of the holders gains was made, but for garbage."""
        kept = self._survivors
        return () if kept is None else kept.unheld(self._places, self._garbage)

    def born_garbage(self) -> tuple[Birthplace, ...]:
        """Return where garbage was made: what neither a root nor C code leads to."""
        return () if self._survivors is None else self._survivors.among(self._garbage)

    def made_garbage(self, classes: Collection[str]) -> dict[str, tuple[Birthplace, ...]]:
        """Return where the garbage of these classes was made."""
        if self._survivors is None or not classes:
            return {}
        return self._survivors.made(self._garbage, classes)

    def _graphs(self) -> list[Holder]:
        """Describe the largest backward graphs by the tensors that hold them."""
        found = [(tensor, list(nodes)) for tensor, nodes in self._carried.largest()]
        measured = self._graph.retained([(nodes, True) for _, nodes in found])
        return [self._named.of_graph(*one, its) for one, its in zip(found, measured, strict=True)]

    def remember(self, memory: PathMemory) -> tuple[PathMemory, list[PathGrowth]]:
        """Return the memory for the next look, and the paths that grew since the previous look."""
        places = self._graph.places(self._containers)
        return memory.after(self._paths, self._containers, places, tuple(self._buffers))

    def held(self, targets: Sequence[int]) -> tuple[Held | None, ...]:
        """Return who holds the object at each address, and what freeing the object would release.

        None for an address at which the walk found no object.
        """
        nodes = [self._graph.find_at(address) for address in targets]
        found = [node for node in nodes if node != NO_NODE]
        measured = iter(self._graph.retained([([node], True) for node in found]))
        return tuple(
            None if node == NO_NODE else self._named.held(node, next(measured)) for node in nodes
        )

    def _large_leaves(self) -> dict[int, None]:
        """Return the paths of large objects that are no containers, such as strings and arrays."""
        large = self._graph.large_paths(_BUFFER)
        return {path: None for path in large if path not in self._at_container}

    def _kept(
        self, survivors: Survivors | None, grown: Sequence[PathGrowth]
    ) -> HeldSurvivors | None:
        """Return the survivors by the container that gains them; None without a birth record."""
        if survivors is None:
            return None
        growing = {change.path for change in grown}
        kinds, containers = self._paths.kind, self._are_containers()
        return HeldSurvivors(
            self._graph,
            survivors,
            self._memory_at,
            containers,
            growing,
            kinds,
            self._buffers,
            self._carried.head_above,
        )

    def _are_containers(self) -> bytes:
        """Return a byte for each path, nonzero if containers lie there that are no namespaces."""
        containers = bytearray(len(self._paths.kind))
        for path in self._containers:
            containers[path] = self._paths.kind[path] != NAMESPACE
        return bytes(containers)

    def _chosen(
        self,
        grown: Sequence[PathGrowth],
        suspects: Sequence[str],
        rankings: Sequence[Sequence[int]],
    ) -> Iterable[tuple[int, PathGrowth | None]]:
        below = self._paths.below
        ranked = sorted(grown, key=lambda change: (change.growth.rest, -below[change.path]))
        longer = {change.path for change in grown}
        others = (
            change
            for change in ranked
            if not self._named.is_ours(self._paths.sample[change.path])
            and not (change.path in self._buffers and self._container_around(change.path) in longer)
        )
        chosen: dict[int, PathGrowth | None] = {g.path: g for g in islice(others, self._limit)}
        for path in self._holder_nodes(suspects):
            chosen.setdefault(path, None)
        for ranking in rankings:
            own = (path for path in ranking if self._named.is_programs(self._paths.sample[path]))
            for path in islice(own, self._limit):
                chosen.setdefault(path, None)
        big = [
            path
            for path in self._containers
            if below[path] >= _WORTH_NAMING
            and self._paths.kind[path] != NAMESPACE
            and self._named.is_programs(self._paths.sample[path])
        ]
        for path in sorted(big, key=lambda path: -below[path])[: _BY_WEIGHT * self._limit]:
            chosen.setdefault(path, None)
        return chosen.items()

    def _by_graph(
        self, chosen: Iterable[tuple[int, PathGrowth | None]]
    ) -> list[tuple[int, int, PathGrowth | None]]:
        """Return each path with its growth; before it the path to be named, each of these once.

        What lies in a backward graph is named by the tensor that holds the graph.
        """
        named: dict[int, tuple[int, PathGrowth | None]] = {}
        for path, growth in chosen:
            head = self._carried.head_above(path)
            named.setdefault(path if head == NO_NODE else head, (path, growth))
        return [(place, path, growth) for place, (path, growth) in named.items()]

    def _holder_nodes(self, suspects: Sequence[str]) -> list[int]:
        """Return, for each class name, the path of the container that holds the most instances."""
        wanted, most = set(suspects), dict[str, tuple[int, int]]()
        if not wanted:
            return []
        for cls, paths in self._graph.paths_by_class(_SEVERAL):
            name = qualified_name(cls)
            for path in paths if name in wanted else ():
                objects, sample = self._paths.objects[path], self._paths.sample[path]
                if objects > most.get(name, (0, 0))[0] and self._named.is_programs(sample):
                    most[name] = (objects, path)
        ends = [most[name][1] for name in dict.fromkeys(suspects) if name in most]
        self._suspects = [self._paths.sample[path] for path in ends]
        around = map(self._container_around, ends)
        return [path for path in around if path != NO_NODE]

    def _container_around(self, path: int) -> int:
        path = self._paths.parent[path]
        while path != NO_NODE and path not in self._at_container:
            path = self._paths.parent[path]
        return path
