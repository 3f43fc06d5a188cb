"""Finds the attribute by which an instance refers to something.

An instance may have no attribute dict: since Python 3.11 the dict is made on demand, and then
stays. A look that made dicts would change what the next look finds. Instead, the look tries the
attribute names that occur in the code of the class, then those in the rest of the program's code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from leakguard.capture.heap.classes import (
    derives,
    lineage,
    module_file,
    module_namespace,
    namespace,
)
from leakguard.capture.heap.frames import running_frames
from leakguard.capture.heap.half_built import entries_of
from leakguard.capture.library import is_library

MISSING = object()
_lookup = object.__getattribute__


def attribute_of(holder: Any, held: Any) -> str | None:
    """Return the attribute as written in code, such as ``.cache``; None if unknown.

    It is empty if ``held`` is the attribute dict of ``holder``.
    """
    cls = type(holder)
    if held is cls:
        return ".__class__"
    if derives(cls, ModuleType) or derives(cls, type):
        return "" if type(held) is dict else _class_part(held)
    for name, read in _members(cls):
        if value_of(read, holder) is held:
            return f".{name}"
    if type(held) is dict and is_attribute_dict(holder, held):
        return ""
    for name in _names_in_code(cls):
        if value_of(partial(_lookup, holder), name) is held:
            return f".{name}"
    return _from_dict(holder, held)


def is_attribute_dict(holder: Any, held: dict[Any, Any]) -> bool:
    """Return whether a dict is the instance's ``__dict__``, judged by its first key and value."""
    name, value = next(entries_of(held), (None, None))
    if type(name) is not str or _is_computed(type(holder), name):
        return False
    return value_of(partial(_lookup, holder), name) is value


def value_of(read: Callable[[Any], Any], holder: Any) -> Any:
    """Return ``read(holder)``, or MISSING if there is no value to read."""
    try:
        return read(holder)
    except Exception:  # an empty slot, a cleared cell
        return MISSING


def _class_part(held: Any) -> str | None:
    if type(held) is tuple:
        return ".__mro__"
    return ".__base__" if derives(type(held), type) else None


def _members(cls: type) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for parent in lineage(cls):
        for name, found in list(namespace(parent).items()):  # a copy: threads may add names
            if type(found) is MemberDescriptorType:
                yield name, found.__get__


def _is_computed(cls: type, name: str) -> bool:
    """Return whether the class has a descriptor of that name, whose reading may run code."""
    own = (namespace(parent) for parent in lineage(cls))
    return any(_is_descriptor(names[name]) for names in own if name in names)


def _is_descriptor(value: Any) -> bool:
    """Return whether reading a class attribute with this value may run code."""
    return any("__get__" in namespace(parent) for parent in lineage(type(value)))


def _names_in_code(cls: type) -> Iterator[str]:
    """Yield each name once: first the names in the class's methods, then those in the program."""
    methods = chain.from_iterable(list(namespace(parent).values()) for parent in lineage(cls))
    seen: set[str] = set()
    for code in chain(_codes(methods), _program_codes()):
        for name in code.co_names:
            if name not in seen:
                seen.add(name)
                if not _is_computed(cls, name):
                    yield name


def _program_codes() -> Iterator[CodeType]:
    """Yield the code of running frames, then the code of modules that are not libraries."""
    yield from (frame.f_code for _, frame in running_frames())
    for module in list(sys.modules.values()):
        file = module_file(module)
        if file is not None and not is_library(file):
            values = list(module_namespace(module).values())
            yield from _codes(values)
            for value in values:
                if derives(type(value), type):
                    yield from _codes(list(namespace(value).values()))


def _codes(values: Iterable[Any]) -> Iterator[CodeType]:
    """Yield the code of functions, and of functions that are defined inside these."""
    waiting = [value.__code__ for value in values if type(value) is FunctionType]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += (part for part in code.co_consts if type(part) is CodeType)


def _from_dict(holder: Any, held: Any) -> str | None:
    # The last resort, because it makes the instance's dict if there was none.
    attributes = instance_dict(holder)
    if attributes is None:
        return None
    if attributes is held:
        return ""
    return next((f".{name}" for name, value in entries_of(attributes) if value is held), None)


def instance_dict(holder: Any) -> dict[Any, Any] | None:
    """Return the ``__dict__`` of an instance, read without user code; None if there is none."""
    for parent in lineage(type(holder)):
        found = namespace(parent).get("__dict__")
        if type(found) is GetSetDescriptorType:
            attributes = value_of(found.__get__, holder)
            return attributes if type(attributes) is dict else None
    return None
