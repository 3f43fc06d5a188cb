"""Traits of a container that, in addition to its class, decide the fix: chains, views, errors.

Only a few sample entries of a holder are read, and no code of the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from math import prod
from types import FunctionType
from typing import Any

from leakguard.capture.heap.classes import derives, from_extension
from leakguard.capture.heap.frameworks import Frameworks, Numpy, Torch
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.layout import DICT, ELEMENTS, LIST, NAMED, PLAIN, TUPLE
from leakguard.capture.heap.storage import array_owner, is_accounted
from leakguard.capture.heap.traces import is_program_class
from leakguard.model.holder import Trait

# Most entries of a container that are read, and most parts of each entry that is a record. Chosen.
_ASKED, _PARTS = 32, 8
_RECORDS = (TUPLE, DICT, LIST)
_CONTAINERS = (*_RECORDS, ELEMENTS)
# A view is worth copying if it keeps at least _WORTH_COPYING bytes more than it shows, and at least
# _TIMES as many bytes. Chosen: a page, because no allocator returns a part of a page.
_WORTH_COPYING, _TIMES = 4_096, 2

# What wraps a function.
_WRAPPERS = (FunctionType, partial)

# The memory of an array or tensor: (its start address or the id of its owner, its bytes).
_Extent = tuple[int, int]


def traits_of(
    graph: Graph, frameworks: Frameworks, sample: int, nodes: Sequence[int]
) -> tuple[Trait, ...]:
    """Return the traits of a holder; ``sample`` is one of its ``nodes``."""
    cls = graph.class_of(sample)
    wraps = any(cls is wrapper for wrapper in _WRAPPERS)
    if graph.kind_of(sample) in (PLAIN, NAMED) and (wraps or is_program_class(cls)):
        return ("chain",)
    things = list(islice(_things(graph, nodes), _ASKED))
    found: list[Trait] = []
    if _is_any_error(things):
        found.append("exceptions")
    if _are_views(things, frameworks):
        found.append("views")
    if _has_graph(things, frameworks.torch):
        found.append("graphs")
    if any(from_extension(type(thing)) for thing in things):
        found.append("extension")
    return tuple(found)


def _things(graph: Graph, nodes: Sequence[int]) -> Iterator[Any]:
    """Yield entries at even distances, and the contents of entries that are records."""
    if not nodes or graph.kind_of(nodes[0]) not in _CONTAINERS:
        return
    groups = [graph.children(node) for node in nodes[:_ASKED]]
    apart = 1 + sum(map(len, groups)) // _ASKED
    for entry in islice(chain.from_iterable(groups), 0, None, apart):
        yield graph.object_at(entry)
        if graph.kind_of(entry) in _RECORDS:
            yield from map(graph.object_at, islice(graph.children(entry), _PARTS))


def _is_any_error(things: Sequence[Any]) -> bool:
    return any(derives(type(thing), BaseException) for thing in things)


def _has_graph(things: Sequence[Any], torch: Torch | None) -> bool:
    """Return whether one of the objects is a tensor that holds a backward graph."""
    tensors = (t for t in things if torch is not None and derives(type(t), torch.kind))
    return any(torch is not None and torch.node(tensor) is not None for tensor in tensors)


def _are_views(things: Sequence[Any], frameworks: Frameworks) -> bool:
    """Return whether arrays and tensors keep far more memory than they show, mostly not shared.

    Rows of one array do not count: they all keep the same memory, however many they are.
    """
    extents = [found for thing in things if (found := extents_of(thing, frameworks)) is not None]
    memory = {key: size for _, (key, size) in extents}
    shown, kept = sum(size for size, _ in extents), sum(memory.values())
    apart = bool(memory) and 2 * len(memory) > len(extents)
    return apart and kept >= max(_TIMES * shown, shown + _WORTH_COPYING * len(memory))


def extents_of(thing: Any, frameworks: Frameworks) -> tuple[int, _Extent] | None:
    """Return the bytes that an array or tensor shows, and its whole memory; None for others."""
    numpy, torch = frameworks.numpy, frameworks.torch
    try:
        if numpy is not None and derives(type(thing), numpy.kind):
            return _of_array(thing, numpy, frameworks)
        if torch is not None and derives(type(thing), torch.kind):
            return _of_tensor(thing, torch)
    except Exception:  # a wrapper of another framework: its memory is not known
        return None
    return None


def _of_array(array: Any, numpy: Numpy, frameworks: Frameworks) -> tuple[int, _Extent] | None:
    root, owner = array_owner(array, numpy.base(array), numpy)
    if owner is not None and is_accounted(owner, frameworks):
        return None
    return numpy.bytes(array), (id(root), numpy.bytes(root))


def _of_tensor(tensor: Any, torch: Torch) -> tuple[int, _Extent] | None:
    buffers = torch.buffers(tensor)
    if len(buffers) != 1:
        return None
    shown = prod(torch.shape(tensor)) * int(torch.dtype(tensor).itemsize)
    return shown, (buffers[0].start, buffers[0].bytes)
