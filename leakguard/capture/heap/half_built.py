"""Unfinished objects: reading them as if they were finished would crash the process.

``PyList_New(n)`` makes a list of n empty slots, and ``tp_alloc`` an instance whose C fields are all
zero. An extension that fails half-way leaves such objects behind. The compiled scan checks for
zeros directly in memory. The twin in pure Python checks for zeros with ``ctypes``. It reads lists
and tuples through the collector's traversal, which skips empty slots.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator, Sequence
from itertools import filterfalse
from types import (
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from leakguard.capture.heap.classes import basic_size, lineage, namespace

_POINTER = tuple.__itemsize__
_HEADER = object.__basicsize__
# Offset of tp_traverse in a class: 20 pointers after the head of a PyVarObject, the same in
# CPython 3.10 to 3.13 (Include/cpython/object.h).
_TRAVERSE = _HEADER + _POINTER + 20 * _POINTER
# An object is unfinished if all of its bytes after the header are zero. The other bytes are read
# only if the first ``_GLANCE`` bytes are zero, which is rare in a finished object. Chosen: few
# bytes, because the bytes after them may not be mapped. For example, a class that C code declares
# statically has fewer bytes than its metaclass states.
_GLANCE = 8 * _POINTER
# Classes whose methods work correctly on an instance whose fields are all zero.
_SAFE = frozenset(
    map(
        id,
        (
            list, tuple, str, int, float, bytes, type, object, property,
            FunctionType, CellType, MethodType, ModuleType, GetSetDescriptorType,
            MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType,
        ),
    )
)  # fmt: skip
# Classes whose ``__len__`` works for an unfinished instance, too. An instance that has elements is
# finished.
_COUNTS = {id(cls): cls.__len__ for cls in (dict, set, frozenset)}


def referents(*items: object) -> list[Any]:
    """Return what objects refer to; nothing for an object whose traversal fails."""
    try:
        return gc.get_referents(*items)
    except SystemError:
        return [] if len(items) == 1 else [part for item in items for part in referents(item)]


def elements_of(sequence: Any, told: Sequence[Any] | None = None) -> list[Any]:
    """Return the elements of a list or tuple in order, without empty slots.

    ``told`` is what the collector's traversal of it returns: the elements come last, in reverse
    order.
    """
    told = referents(sequence) if told is None else told
    cls = type(sequence)
    if cls is list or cls is tuple:
        return list(reversed(told))
    length = (list if list in lineage(cls) else tuple).__len__(sequence)
    first = next((i + 1 for i, part in enumerate(told) if part is cls), 0)
    if "n_sequence_fields" in namespace(cls):  # os.stat_result and the like: in order
        return list(told[first : first + length])
    first = max(first, len(told) - length)
    return list(reversed(told[first:]))


def has_c_fields(cls: type) -> bool:
    """Return whether instances have C fields whose class expects that they are set."""
    if id(cls) in _SAFE:
        return False
    return any(_is_written_in_c(parent) for parent in lineage(cls))


def is_blank(item: Any) -> bool:
    """Return whether an instance of a class with C fields was allocated but never initialised."""
    cls: type = type(item)
    count = _COUNTS.get(id(cls))
    if count is not None and count(item):
        return False
    start, size = id(item) + _HEADER, basic_size(cls) - _HEADER
    return size > 0 and _is_zero(start, min(size, _GLANCE)) and _is_zero(start, size)


def or_empty(mapping: dict[Any, Any]) -> dict[Any, Any]:
    """Return the dict itself; a new empty dict for one that was never initialised."""
    return {} if is_blank(mapping) else mapping


def entries_of(mapping: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a dict.

    Threads of the program may change the dict between two entries. Then iteration starts again over
    a copy, which is made atomically. Copying every dict from the start would take too much memory.
    """
    mapping = or_empty(mapping)
    try:
        yield from dict.items(mapping)
    except RuntimeError:
        yield from list(dict.items(mapping))


def finished(instances: Sequence[Any]) -> list[Any]:
    """Return those of the instances that are initialised; all are of one class with C fields."""
    count = _COUNTS.get(id(type(instances[0])))
    if count is None:
        return list(filterfalse(is_blank, instances))
    return [item for item in instances if count(item) or not is_blank(item)]


def _is_zero(start: int, size: int) -> bool:
    return not ctypes.string_at(start, size).strip(b"\0")


def _is_written_in_c(cls: type) -> bool:
    if id(cls) in _SAFE:
        return False
    return _traverse_of(cls) not in (0, _IN_PYTHON) or "__sizeof__" in namespace(cls)


def _traverse_of(cls: type) -> int:
    return ctypes.c_size_t.from_address(id(cls) + _TRAVERSE).value


class MadeInPython:
    """A sample: its tp_traverse and tp_dealloc are those of all classes made by Python code."""


_IN_PYTHON = _traverse_of(MadeInPython)
