"""Reference cycles, which only the garbage collector frees: the path from an object to itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from leakguard.capture.heap.classes import from_library, qualified_name
from leakguard.capture.heap.roots import is_ours
from leakguard.capture.heap.traces import Step, TraceNodes, is_program_class, steps_along
from leakguard.model.holder import Hop

# Most classes for which one look searches a cycle. Chosen, to limit the time of the look.
_CLASSES = 48
# Most objects of a class from which one look searches a cycle. Chosen, to limit the time of the
# look.
_SAMPLES = 2
# Most nodes that one search for a cycle follows. Chosen, to limit the time of a look.
_REACH = 2_000
# Most nodes that are read to count the objects of each class. If there are more,
# only every n-th of them is read. Chosen, to limit the time of a look.
_LOOKED_AT = 200_000


class Linked(TraceNodes, Protocol):
    """A graph whose references can be followed."""

    def __len__(self) -> int: ...
    def children(self, node: int) -> Sequence[int]: ...
    def class_of(self, node: int) -> type: ...


def cycles_among(graph: Linked, nodes: Sequence[int]) -> dict[str, tuple[Hop, ...]]:
    """Return one cycle for each of the most common classes among these nodes, which are garbage.

    The program's own classes are ranked before those of libraries, because libraries often leave
    more objects. A class is left out if its instances are only referenced by a cycle, not in it.
    """
    found = {}
    first = min(nodes, default=0)
    for cls, samples in _by_class(graph, nodes):
        ways = (_way_back(graph, node, first) for node in samples)
        way = next((way for way in ways if way), None)
        if way is not None:
            found[qualified_name(cls)] = _hops_along(graph, way)
    return found


def types_of(graph: Linked, nodes: Sequence[int]) -> dict[str, int]:
    """Return how many nodes of each type there are among these, without the guard's own.

    The most common come first.
    """
    counts: Counter[str | None] = Counter()
    names: dict[int, str | None] = {}
    for node in nodes:
        cls = graph.class_of(node)
        if id(cls) not in names:
            names[id(cls)] = None if is_ours(cls) else qualified_name(cls)
        counts[names[id(cls)]] += 1
    return {name: count for name, count in counts.most_common() if name is not None}


def _by_class(graph: Linked, nodes: Sequence[int]) -> Iterator[tuple[type, list[int]]]:
    counts: Counter[int] = Counter()
    samples: dict[int, tuple[type, list[int]]] = {}
    stride = 1 + len(nodes) // _LOOKED_AT
    for node in nodes[::stride]:
        cls = graph.class_of(node)
        if id(cls) in samples or (is_program_class(cls) and not is_ours(cls)):
            counts[id(cls)] += 1
            its = samples.setdefault(id(cls), (cls, []))[1]
            if len(its) < _SAMPLES:
                its.append(node)
    own_first = sorted(counts, key=lambda key: (from_library(samples[key][0]), -counts[key]))
    for key in own_first[:_CLASSES]:
        yield samples[key]


def _way_back(graph: Linked, node: int, first: int) -> list[int] | None:
    """Return the shortest chain from a node back to itself, through nodes from ``first`` on."""
    came_from: dict[int, int] = {}
    queue = [node]
    for gone_through, at in enumerate(queue):
        for child in graph.children(at):
            if child == node:
                return _chain(came_from, node, at)
            if child >= first and child not in came_from:
                came_from[child] = at
                queue.append(child)
        if gone_through >= _REACH:  # counts nodes, so that one long list does not reach it
            return None
    return None


def _chain(came_from: dict[int, int], node: int, last: int) -> list[int]:
    chain = [node]
    while last != node:
        chain.append(last)
        last = came_from[last]
    return [*chain, node][::-1]


def _hops_along(graph: Linked, chain: Sequence[int]) -> tuple[Hop, ...]:
    start = graph.object_at(chain[0])
    name = qualified_name(type(start))
    steps = steps_along(graph, chain, Step(name, start, name))
    hops = [Hop(step.name, qualified_name(type(step.item))) for step in steps]
    return (*hops[:-1], replace(hops[-1], suspect=True))
