"""How instances of one class are sized, and what they refer to: asked once per class."""

from __future__ import annotations

import gc
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from leakguard.capture.heap.classes import (
    HAS_GC,
    LRU_CACHE,
    MANAGED_DICT,
    basic_size,
    derives,
    dict_offset,
    flags,
    from_standard_library,
    item_size,
    lineage,
    size_method,
)
from leakguard.capture.heap.sizes import (
    GC_HEADER,
    block_method,
    claim_of,
    header_size,
    hidden_values_size,
)

# The contents of an instance; the compiled scan uses the same numbers. PLAIN: attributes only.
# ELEMENTS: a set or deque, every reference is an element. NAMED: may have an instance dict. MEMORY:
# array or tensor memory. AUTOGRAD: a node of a backward graph.
PLAIN, LIST, TUPLE, DICT, ELEMENTS, NAMED, MEMORY, AUTOGRAD = range(8)

# What no traversal visits: named parts, then elements.
Reader = Callable[[Any], tuple[list[object], Iterable[object]]]
_CONTAINERS = {
    id(dict): DICT,
    id(list): LIST,
    id(tuple): TUPLE,
    id(set): ELEMENTS,
    id(frozenset): ELEMENTS,
    id(deque): ELEMENTS,
    id(itertools._tee_dataobject): ELEMENTS,  # type: ignore[attr-defined]
}

# Their first dict is not the instance's: the globals of a function, the entries of a cache.
_OTHER_DICTS = frozenset({id(FunctionType), id(LRU_CACHE)})


class Memory(int):
    """A node of the object graph that stands for unique array or tensor memory: its bytes."""

    __slots__ = ()


class ClassLayout(NamedTuple):
    """One class as the walks see it.

    Attributes:
        kind: one of the constants above.
        fixed: bytes of every instance, headers included; -1 if ``method`` has to be asked.
        method: sizes an instance without its headers, by C functions of the interpreter.
        header: bytes to add to what ``method`` returns.
        hidden: attributes may lie outside of the instance, see ``hidden_values_size``.
        managed: an instance dict, if there is one, is the only reference beside the class.
        traversed: instances show the collector what they refer to.
        read: reads what they do not show.
        room: references that fit into an instance. One that shows more has memory of its own for
            them, and they are its elements: it is a container written in C.
    """

    kind: int
    fixed: int
    method: Callable[[Any], int] | None
    header: int
    hidden: bool
    managed: bool
    traversed: bool
    read: Reader | None
    room: int = sys.maxsize

    def size(self, instance: Any, referents: int, with_dict: bool) -> int:
        """Return the bytes of one instance, as ``sys.getsizeof`` counts them, and of its block."""
        if self.kind == MEMORY:
            return int(instance)
        if self.method is None:
            return self.fixed + (hidden_values_size(referents, with_dict) if self.hidden else 0)
        return self.method(instance) + self.header


def may_traverse(layout: ClassLayout, item: object) -> bool:
    """Return whether an object may be asked what it refers to.

    One that is not tracked may be unfinished: only finished tuples and dicts leave the collector's
    lists.
    """
    cls = type(item)  # compared by identity: a metaclass may have an __eq__
    return layout.traversed and (cls is tuple or cls is dict or gc.is_tracked(item))


_MEMORY = ClassLayout(MEMORY, 0, None, 0, False, False, False, None)


def layout_of(cls: type, read: Reader | None = None) -> ClassLayout:
    """Describe a class; ``read`` is its adapter, if it needs one."""
    if cls is Memory:
        return _MEMORY
    method: Callable[[Any], int] | None = size_method(cls)
    header, fixed = header_size(cls), -1
    if method is type.__sizeof__:
        header = GC_HEADER
    elif method is object.__sizeof__ and not item_size(cls):
        fixed, method = basic_size(cls) + header, None
    elif method is object.__sizeof__ and not from_standard_library(cls):
        method = claim_of(cls)
    block = block_method(cls)
    if block is not None:
        header, fixed, method = basic_size(cls) + header, -1, block
    bits = flags(cls)
    return ClassLayout(
        kind=_kind(cls),
        fixed=fixed,
        method=method,
        header=header,
        # Only then may attributes lie outside of both the instance dict and slots.
        hidden=method is None and bool(bits & MANAGED_DICT),
        managed=bool(bits & MANAGED_DICT),
        traversed=bool(bits & HAS_GC),
        read=read,
        room=room_of(cls),
    )


def room_of(cls: type) -> int:
    """Return how many references fit into an instance; no limit if the size does not show it.

    Python's attributes may lie outside of an instance, and frames and generators have theirs in
    items; a cache is followed by its dict, modules by their namespaces.
    """
    apart = flags(cls) & MANAGED_DICT or item_size(cls)
    if apart or id(cls) in _OTHER_DICTS or derives(cls, ModuleType) or derives(cls, type):
        return sys.maxsize
    return basic_size(cls) // item_size(tuple)


def _kind(cls: type) -> int:
    for parent in lineage(cls):
        kind = _CONTAINERS.get(id(parent))
        if kind is not None:
            return kind
    return NAMED if dict_offset(cls) and id(cls) not in _OTHER_DICTS else PLAIN
