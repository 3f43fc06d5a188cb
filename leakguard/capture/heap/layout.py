"""How to size the instances of a class and find what they refer to; worked out once per class."""

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

# Kinds of instances by their contents; the compiled scan uses the same numbers. PLAIN: attributes
# only. ELEMENTS: a set or deque, in which every reference is an element. NAMED: may have an
# instance dict. MEMORY: array or tensor memory. AUTOGRAD: a node of a backward graph.
PLAIN, LIST, TUPLE, DICT, ELEMENTS, NAMED, MEMORY, AUTOGRAD = range(8)

# Reads what the collector's traversal does not visit: (named parts, elements).
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

# Classes whose first dict is not the instance's ``__dict__``: it is the globals of a function, or
# the entries of a cache.
_OTHER_DICTS = frozenset({id(FunctionType), id(LRU_CACHE)})


class Memory(int):
    """A node of the object graph for the memory of arrays or tensors; its value is in bytes."""

    __slots__ = ()


class ClassLayout(NamedTuple):
    """What the walks need to know of one class.

    Attributes:
        kind: one of the constants above.
        fixed: bytes of every instance, headers included; -1 if ``method`` must be called.
        method: returns the size of an instance without its headers; C functions of the interpreter.
        header: bytes to add to what ``method`` returns.
        hidden: True if attributes may lie outside of the instance, see ``hidden_values_size``.
        managed: True if the only references of an instance with a dict are its class and the dict.
        traversed: True if the collector can traverse instances.
        read: reads the references that the traversal does not visit.
        room: the number of references that fit into an instance. An instance with more references
            is a container written in C: it keeps them in memory of its own, as elements.
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
        """Return the bytes of an instance as ``sys.getsizeof`` counts, plus any separate block."""
        if self.kind == MEMORY:
            return int(instance)
        if self.method is None:
            return self.fixed + (hidden_values_size(referents, with_dict) if self.hidden else 0)
        return self.method(instance) + self.header


def may_traverse(layout: ClassLayout, item: object) -> bool:
    """Return whether it is safe to ask an object what it refers to.

    An object that the collector does not track may be unfinished. Tuples and dicts are an
    exception: the collector stops tracking them only when they are finished.
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
        # An instance of a class with MANAGED_DICT may have its attributes in an array outside of
        # the instance. ``size`` adds the bytes of this array, but not if the class has a
        # ``method``.
        hidden=method is None and bool(bits & MANAGED_DICT),
        managed=bool(bits & MANAGED_DICT),
        traversed=bool(bits & HAS_GC),
        read=read,
        room=room_of(cls),
    )


def room_of(cls: type) -> int:
    """Return how many references fit into an instance; ``sys.maxsize`` if the size is no limit.

    The size is no limit if attributes may lie outside of the instance, or if references lie in its
    items, as in frames and generators. It is not used for caches, which are followed by their dict,
    nor for modules and classes, which are followed by their namespaces.
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
