"""Proof by cutting: a holder is emptied, and what the allocators release is measured.

This is done in a copy of the process, which ends afterwards; the process itself is not changed. The
copy keeps using the C allocator, unlike a copy that only looks, because the proof measures what the
allocator releases.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from leakguard.capture.allocator import allocator_memory, pool_memory
from leakguard.capture.heap.classes import derives
from leakguard.capture.heap.frameworks import Numpy
from leakguard.capture.heap.graph import Graph, MakeGraph
from leakguard.capture.heap.inert import Inertness
from leakguard.capture.heap.path_tree import NAMESPACE
from leakguard.capture.heap.process_copy import CopyFailed, CopyRefused, ProcessCopy
from leakguard.capture.heap.roots import is_ours
from leakguard.capture.heap.traces import stable_name
from leakguard.capture.heap.walked_graph import walk_graph
from leakguard.model.holder import ELEMENT, Proof


class _Way(NamedTuple):
    """The functions that empty a container and that iterate over its contents."""

    empty: Callable[[Any], object]
    contents: Callable[[Any], Iterator[Any]]


# The classes that may be emptied, subclasses before their bases. The methods are those of the
# listed class even for instances of its subclasses, so that no code of the program runs.
_EMPTIES: Mapping[type, _Way] = {
    OrderedDict: _Way(OrderedDict.clear, lambda held: _both(held)),
    dict: _Way(dict.clear, lambda held: _both(held)),
    list: _Way(list.clear, list.__iter__),
    deque: _Way(deque.clear, deque.__iter__),
    set: _Way(set.clear, set.__iter__),
    tuple: _Way(lambda held: _fill_with_none(held), tuple.__iter__),
}
# Seconds of CPU time for naming containers until the right one is found. Naming takes 20 µs per
# container, and a hundred times as much if code has to be searched for an attribute's name.
_NAMING_SECONDS = 20.0
# A container may be the reported holder only if its size differs from the reported size by at most
# this share. A small difference is usual, because the reported size excludes the container itself.
# Chosen.
_SAME_SIZE = 0.01
# Limit in seconds of CPU time. A proof walks the heap twice and collects garbage, which takes 8 s
# with a million objects.
_LONGEST_PROOF = 60.0


class _Found(NamedTuple):
    """The containers with the wanted name, and the objects that have no root before the cut.

    Attributes:
        containers: each container, with the way to empty it.
        told: the bytes that the containers retain, as the walk measured them.
        adrift: the addresses of the objects without a root.
        kept: those of them that may not be freed. The others are freed before the measurement,
            because garbage may refer to the objects that are cut.
    """

    containers: list[tuple[Any, _Way]]
    told: int
    adrift: frozenset[int]
    kept: list[Any]


def prove(held_by: str, retained: int | None, make_graph: MakeGraph) -> Proof:
    """Empty a holder in a copy of this process and measure what is freed; this takes seconds.

    ``retained`` is the reported number of bytes that the holder retains. Containers of about that
    size are tried first.
    """
    try:
        copy = ProcessCopy.begin(
            lambda: msgspec.msgpack.encode(_cut(held_by, retained, make_graph)),
            seconds=_LONGEST_PROOF,
            memory=0,
        )
        answer = copy.answer()
    except CopyRefused as refusal:
        return Proof(held_by, refused=str(refusal))
    except CopyFailed as failure:
        return Proof(held_by, refused=f"the copy failed: {failure}")
    return msgspec.msgpack.decode(answer, type=Proof)


def _cut(held_by: str, retained: int | None, make_graph: MakeGraph) -> Proof:
    """Empty the holder; runs in the copy, where nothing is put back."""
    gc.disable()
    gc.callbacks.clear()  # the program's own
    _in_use()  # Called once before, so that memory for its own caches does not count later.
    found = _containers(held_by, retained, make_graph)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found.kept))
    if not found.containers:
        return Proof(
            held_by, refused="no container of this name was found, or none that can be emptied"
        )
    contents: list[Any] = []
    # This list keeps the holder's contents alive until they may be freed. Freeing them may turn out
    # to be unsafe, so the list must outlive this function. A raised reference count does that. A
    # global variable would do it too, but the next walk would then find the contents through it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(contents))
    for container, way in found.containers:
        contents.extend(way.contents(container))
    tables = _freed_by_emptying(found.containers) - (sys.getsizeof(contents) - sys.getsizeof([]))
    hindrance = _hindrance(contents, found.adrift, make_graph)
    if hindrance is not None:
        return Proof(held_by, found.told, refused=hindrance)
    gc.collect()  # frees what the walks left, and the program's garbage except ``kept``
    before = _in_use()
    contents.clear()
    gc.collect()
    return Proof(held_by, found.told, max(before - _in_use() + tables, 0))


def _freed_by_emptying(containers: Sequence[tuple[Any, _Way]]) -> int:
    """Empty the containers and return the bytes of their tables.

    The caller holds the contents, so that these are not freed yet.
    """
    before = _in_use()
    for container, way in containers:
        way.empty(container)
    return before - _in_use()


def _containers(held_by: str, retained: int | None, make_graph: MakeGraph) -> _Found:
    with closing(walk_graph(make_graph, ())) as walked:
        graph = walked.graph
        with walked.frameworks.quiet():
            nodes = _nodes(held_by, retained, graph)
            told = graph.retained([(nodes, False)])[0].bytes if nodes else 0
            adrift = [graph.object_at(node) for node in range(walked.rooted, len(graph))]
            kept = Inertness(walked.frameworks).hindering(adrift)
        found = [graph.object_at(node) for node in nodes]
        ways = [(item, _way_to_empty(item, walked.frameworks.numpy)) for item in found]
        empties = [(item, way) for item, way in ways if way is not None]
        return _Found(empties, told, frozenset(map(id, adrift)), kept)


def _nodes(held_by: str, retained: int | None, graph: Graph) -> Sequence[int]:
    """Return the nodes of the containers whose path has this name.

    At the end of a run the shortest path to a container may differ from that at the look. Then the
    container is accepted that has the same last name and the reported size, if it is the only one.
    """
    paths = graph.path_columns()
    wanted = held_by.removesuffix(ELEMENT)
    told = max(paths.below, default=0) if retained is None else retained
    named = (path for path in graph.containers() if paths.kind[path] != NAMESPACE)
    nearest = sorted(named, key=lambda path: abs(paths.below[path] - told))
    until = time.process_time() + _NAMING_SECONDS
    alike: list[int] = []
    for path in nearest:
        if time.process_time() > until:
            break
        name = stable_name(graph, paths.sample[path])
        if name == wanted:
            return graph.members([path])[0]
        is_near = retained is not None and abs(paths.below[path] - told) <= _SAME_SIZE * told
        if is_near and "." in wanted and _last(name) == _last(wanted):
            alike.append(path)
    return graph.members(alike)[0] if len(alike) == 1 else ()


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _hindrance(contents: list[Any], before: frozenset[int], make_graph: MakeGraph) -> str | None:
    """Return why the contents, or objects that only they hold, may not be freed; None if they may.

    Objects that had no root ``before`` the cut are left out, because they were judged already.
    """
    with closing(walk_graph(make_graph, contents)) as walked:
        graph = walked.graph
        freed = (
            item
            for item in map(graph.object_at, range(walked.rooted, len(graph)))
            if id(item) not in before and not is_ours(type(item))
        )
        untracked = (item for item in contents if not gc.is_tracked(item))
        with walked.frameworks.quiet():
            return Inertness(walked.frameworks).hindrance(chain(freed, untracked))


def _way_to_empty(item: Any, numpy: Numpy | None) -> _Way | None:
    """Return how to empty a container; None if no way is known or it is read-only."""
    if numpy is not None and derives(type(item), numpy.kind):
        return _Way(numpy.fill_with_none, numpy.flat) if numpy.takes_none(item) else None
    return next((way for base, way in _EMPTIES.items() if derives(type(item), base)), None)


def _fill_with_none(held: tuple[Any, ...]) -> None:
    """Replace each element of a tuple by None in place: other objects may hold the tuple."""
    for position in range(tuple.__len__(held)):
        at = id(held) + tuple.__basicsize__ + position * tuple.__itemsize__
        slot = ctypes.c_size_t.from_address(at)
        element, slot.value = ctypes.c_void_p(slot.value), id(None)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
        ctypes.pythonapi.Py_DecRef(element)


def _both(held: dict[Any, Any]) -> Iterator[Any]:
    for key, value in dict.items(held):
        yield key
        yield value


def _in_use() -> int:
    """Return the bytes that the C allocator and Python's pools have handed out.

    Raises:
        Unavailable: one of the two numbers is unknown.
    """
    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])
