"""How many entries a container can have, if the container or its owner states a limit."""

from __future__ import annotations

import math
import queue
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from leakguard.capture.heap.attributes import is_attribute_dict
from leakguard.capture.heap.classes import LRU_CACHE, derives, lineage, namespace
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.graph import Graph
from leakguard.capture.heap.half_built import is_blank, or_empty, referents

# A path stands for many containers if, for example, each element of a list has a container. If more
# containers than this are at one path, their limits are not read. Chosen: reading so many limits
# would be expensive, and their sum would mean little.
_MOST_BOUNDED = 1_000
_CACHE_INFO = LRU_CACHE.__dict__["cache_info"]
# Attributes in which a class with one container states the maximum size of that container.
_NAMES = ("capacity", "maxsize", "max_size", "maxlen", "max_len", "max_entries", "max_items",
          "_capacity", "_maxsize", "_max_size", "_maxlen", "_max_entries")  # fmt: skip
_CONTAINERS = (list, dict, set, deque)
_lookup = object.__getattribute__


def capacity_of(
    graph: Graph, frameworks: Frameworks, nodes: Sequence[int], entries: int
) -> int | None:
    """Return how many entries the containers at ``nodes`` can hold; None unless all are bounded.

    ``entries`` is how many entries they have. A list or array with empty slots is bounded by its
    length.
    """
    if len(nodes) > _MOST_BOUNDED:
        return None
    declared = _declared(graph, nodes)
    if declared is not None:
        return declared
    total = 0.0
    for node in nodes:
        total += _slots(frameworks, graph.object_at(node))
        if total == math.inf:
            return None
    return int(total) if entries < total else None


def _declared(graph: Graph, nodes: Sequence[int]) -> int | None:
    """Return the sum of the bounds that containers or their owners state.

    None if a container has no stated bound.
    """
    total = 0
    for node in nodes:
        bound = declared_capacity(graph.object_at(node), partial(_owner, graph, node))
        if bound is None:
            return None
        total += bound
    return total


def _owner(graph: Graph, node: int) -> Any:
    """Return the object that refers to a container; for an attribute dict, return its instance."""
    above = [graph.object_at(n) for n in graph.chain_to(node)[-3:-1]]
    if len(above) == 2 and type(above[1]) is dict and is_attribute_dict(*above):
        return above[0]
    return above[-1] if above else None


def _slots(frameworks: Frameworks, container: Any) -> float:
    """Return the number of slots that a container has now; infinity if it is unknown."""
    if type(container) is list:
        return len(container)
    shape = frameworks.describe(container).shape
    return math.inf if shape is None else math.prod(shape)


def declared_capacity(container: Any, find_owner: Callable[[], Any]) -> int | None:
    """Return the bound of a container, from itself or from its owner.

    Args:
        container: the container whose bound is wanted.
        find_owner: returns the object that refers to the container; if that is an attribute dict,
            returns the dict's instance.
    """
    if type(container) is deque and container.maxlen is not None:
        return container.maxlen
    owner = find_owner()
    if type(owner) is LRU_CACHE:
        maxsize = None if is_blank(owner) else _CACHE_INFO(owner).maxsize
        return maxsize if type(maxsize) is int else None
    if not _is_only_container(container, owner):
        return None
    sizes = (_plain_attribute(owner, name) for name in _NAMES)
    return next((size for size in sizes if type(size) is int and size > 0), None)


def _is_only_container(container: Any, owner: Any) -> bool:
    """Return whether the container is the only one to which the owner's bound may belong."""
    if owner is None or any(derives(type(owner), cls) for cls in (*_CONTAINERS, tuple, type)):
        return False
    parts = referents(owner)
    values = [part for part in parts if type(part) is dict and part is not container]
    if len(values) == 1 and len(parts) == 2:  # the attribute dict and the class
        parts = list(dict.values(or_empty(values[0])))
    others = [part for part in parts if any(derives(type(part), cls) for cls in _CONTAINERS)]
    return any(part is container for part in others) and (
        len(others) == 1 or _is_standard_queue(owner)
    )


def _is_standard_queue(owner: Any) -> bool:
    asyncio_queue = vars(sys.modules.get("asyncio.queues", queue)).get("Queue", queue.Queue)
    return derives(type(owner), queue.Queue) or derives(type(owner), asyncio_queue)


def _plain_attribute(owner: Any, name: str) -> Any:
    """Return an attribute's value; None if a property or another descriptor would compute it."""
    for parent in lineage(type(owner)):
        found = namespace(parent).get(name)
        if found is not None and any("__get__" in namespace(c) for c in lineage(type(found))):
            return None
    try:
        return _lookup(owner, name)
    except Exception:  # no such attribute, or the owner is half built
        return None
