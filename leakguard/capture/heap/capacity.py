"""How many entries a container can have, where it or what it belongs to says so."""

from __future__ import annotations

import queue
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from leakguard.capture.heap.classes import LRU_CACHE, derives, lineage, namespace
from leakguard.capture.heap.half_built import is_blank, or_empty, referents

_CACHE_INFO = LRU_CACHE.__dict__["cache_info"]
# Attributes by which classes say how many entries their one container may have.
_NAMES = ("capacity", "maxsize", "max_size", "maxlen", "max_len", "max_entries", "max_items",
          "_capacity", "_maxsize", "_max_size", "_maxlen", "_max_entries")  # fmt: skip
_CONTAINERS = (list, dict, set, deque)
_lookup = object.__getattribute__


def declared_capacity(container: Any, find_owner: Callable[[], Any]) -> int | None:
    """Return the bound of a container, from itself or from the object that it is a part of.

    Args:
        find_owner: returns what refers to the container, its attribute dict passed over.
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
    """Tell whether the owner has no other container, to which its bound may belong."""
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
    """Return an attribute that no property or other descriptor computes; None for others."""
    for parent in lineage(type(owner)):
        found = namespace(parent).get(name)
        if found is not None and any("__get__" in namespace(c) for c in lineage(type(found))):
            return None
    try:
        return _lookup(owner, name)
    except Exception:  # not there, or half made
        return None
