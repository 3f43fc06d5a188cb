"""How one object refers to another, as it would be written in the program.

References are found by identity: objects of the program are not compared, hashed or printed, and
properties are never evaluated.
"""

from __future__ import annotations

import _queue
import functools
import itertools
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodType,
    TracebackType,
)
from typing import Any

from leakguard.capture.heap.attributes import MISSING, attribute_of, instance_dict, value_of
from leakguard.capture.heap.backward import is_backward_node
from leakguard.capture.heap.classes import (
    LRU_CACHE,
    derives,
    from_standard_library,
    lineage,
    namespace,
    qualified_name,
)
from leakguard.capture.heap.frames import local_variables
from leakguard.capture.heap.half_built import elements_of, entries_of, referents
from leakguard.capture.heap.layout import (
    AUTOGRAD,
    DICT,
    ELEMENTS,
    LIST,
    TUPLE,
    Memory,
    room_of,
)
from leakguard.model.holder import ELEMENT

UNNAMED = ".<unnamed>"
_MAX_KEY = 40
_ATOMS = frozenset(map(id, (str, int, float, bool, bytes, type(None))))
_lookup = object.__getattribute__
_SUSPENDED: dict[int, str] = {
    id(GeneratorType): "gi",
    id(CoroutineType): "cr",
    id(AsyncGeneratorType): "ag",
}
# Slots of C types, each with the text that describes the reference in a trace.
_SLOTS: dict[type, dict[str, str]] = {
    FunctionType: {
        "__closure__": ".__closure__",
        "__defaults__": ".__defaults__",
        "__kwdefaults__": ".__kwdefaults__",
        "__code__": ".__code__",
        "__globals__": ".__globals__",
    },
    MethodType: {"__self__": "bound method self", "__func__": ".__func__"},
    BuiltinFunctionType: {"__self__": "bound method self"},
    functools.partial: {"args": ".args", "keywords": ".keywords", "func": ".func"},
    TracebackType: {"tb_frame": "traceback frame", "tb_next": "traceback frame"},
    property: {"fget": ".fget", "fset": ".fset", "fdel": ".fdel"},
    staticmethod: {"__func__": ".__func__"},
    classmethod: {"__func__": ".__func__"},
    BaseException: {
        "__traceback__": ".__traceback__",
        "__context__": ".__context__",
        "__cause__": ".__cause__",
        "args": ".args",
    },
    CodeType: {"co_consts": ".co_consts", "co_names": ".co_names"},
}


# Types of iterators and views, whose reference to the underlying object is not shown in a trace.
_SEEN_THROUGH = frozenset(
    map(
        id,
        (
            MappingProxyType, enumerate, reversed, type(iter([])), type(reversed([])),
            type(iter(())), type(iter(set())), type(iter({})), type(iter({}.values())),
            type(iter({}.items())), type({}.keys()), type({}.values()), type({}.items()),
        ),
    )
)  # fmt: skip
# Classes of the nodes of a ``contextvars.Context``, which is a tree. No module exports these
# classes, so they are known by name.
_NODES_OF_CONTEXTS = frozenset(
    {"hamt", "hamt_bitmap_node", "hamt_array_node", "hamt_collision_node"}
)
# What a tensor keeps in C++, besides its gradient.
_OF_TENSORS = ("_base", "_backward_hooks", "_post_accumulate_grad_hooks")
_WORDS = {
    id(type(itertools.tee(())[0])): "buffer",
    id(itertools.cycle): "copy",
    id(ContextVar): "default",
    id(Token): "old value",
}


def hop_name(holder: Any, held: Any, kind: int) -> str:
    """Return how ``holder`` refers to ``held``; empty if a trace should not show this reference.

    ``kind`` is the holder's kind of layout, such as ``DICT``.
    """
    for name in _candidates(holder, held, kind):
        if name is not None:
            return name
    return UNNAMED


def key_name(key: Any) -> str:
    """Return ``['key']`` for a key that is safe to print; for others, their type in brackets."""
    if _is_atom(key):
        text = repr(key)
        return f"[{text if len(text) <= _MAX_KEY else text[: _MAX_KEY - 1] + '…'}]"
    return f"[<{qualified_name(type(key))}>]"


def _is_atom(key: Any) -> bool:
    if id(type(key)) in _ATOMS:
        return type(key) is not int or -(2**63) <= key < 2**63
    return type(key) is tuple and len(key) <= 4 and all(id(type(part)) in _ATOMS for part in key)


def _candidates(holder: Any, held: Any, kind: int) -> Iterator[str | None]:
    if type(held) is Memory:
        yield ""
    if kind == DICT:
        yield _key_of(holder, held)
    if kind == TUPLE:
        yield _field_of(holder, held)
    if kind in (LIST, ELEMENTS):
        yield _element_of(holder, held, kind)
    if kind == AUTOGRAD:
        yield ".next_functions" if is_backward_node(type(held)) else ".saved_tensors"
    yield _slot_of(holder, held)
    yield _local_of(holder, held)
    yield attribute_of(holder, held)
    yield _adapted(holder, held)
    yield _one_of_many(holder, held)
    yield _inside(type(holder))


def _one_of_many(holder: Any, held: Any) -> str | None:
    """Return ``[*]`` if ``held`` is an element of a container written in C; otherwise None."""
    told = referents(holder)
    if len(told) <= room_of(type(holder)) or held is type(holder):
        return None
    return ELEMENT if any(part is held for part in told) else None


def _inside(cls: type) -> str | None:
    """Return a name for hidden references of a C class, made from the name of the class.

    None if the class is not from the standard library.
    """
    if id(cls) in _SEEN_THROUGH or qualified_name(cls) in _NODES_OF_CONTEXTS:
        return ""
    if not from_standard_library(cls):
        return None
    word = _WORDS.get(id(cls)) or ("source" if _is_iterator(cls) else "part")
    return f"{word} of {qualified_name(cls)}"


def _is_iterator(cls: type) -> bool:
    return "__next__" in namespace(cls)


def _key_of(holder: Any, held: Any) -> str | None:
    for key, value in entries_of(holder):
        if value is held:
            return key_name(key)
    return "key" if any(key is held for key, _ in entries_of(holder)) else None


def _field_of(holder: Any, held: Any) -> str | None:
    parts = elements_of(holder)
    position = next((i for i, part in enumerate(parts) if part is held), None)
    if position is None:
        return None
    if len(parts) < tuple.__len__(holder):  # it is unknown which slots are empty
        return ELEMENT
    fields = namespace(type(holder)).get("_fields")
    if type(fields) is tuple and position < len(fields) and type(fields[position]) is str:
        return f".{fields[position]}"
    return ELEMENT


def _element_of(holder: Any, held: Any, kind: int) -> str | None:
    if type(holder) is list:  # which refers to nothing else; looking would write to each element
        return ELEMENT
    elements = elements_of(holder) if kind == LIST else referents(holder)
    return ELEMENT if held is not type(holder) and any(e is held for e in elements) else None


def _slot_of(holder: Any, held: Any) -> str | None:
    if type(holder) is CellType:
        return ".cell_contents"
    if type(holder) is LRU_CACHE:
        return _part_of_cache(holder, held)
    if type(holder) is _queue.SimpleQueue:  # the inner list has no name
        return ""
    for cls, names in _SLOTS.items():
        if derives(type(holder), cls):
            for slot, name in names.items():
                if value_of(namespace(cls)[slot].__get__, holder) is held:
                    return name
    return "" if type(holder) is FunctionType and type(held) is dict else None


def _local_of(holder: Any, held: Any) -> str | None:
    prefix = _SUSPENDED.get(id(type(holder)))
    frame = getattr(holder, f"{prefix}_frame") if prefix else holder
    if type(frame) is not FrameType:
        return None
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    for name, value in local_variables(frame).items():
        if value is held:
            return f"local {name} in {function}()"
    if prefix is None and frame.f_back is held:
        return "called from"
    return "" if prefix and held is frame else None


def _adapted(holder: Any, held: Any) -> str | None:
    """Return the name of a reference that only adapters find, such as ``.grad_fn`` or ``.base``."""
    if is_backward_node(type(held)):
        return ".grad_fn"
    # The gradient is read of leaf tensors only: for other tensors, torch would print a warning.
    is_leaf = _descriptor_value(holder, "is_leaf") is not False
    for name in ("grad", *_OF_TENSORS) if is_leaf else _OF_TENSORS:
        if _descriptor_value(holder, name) is held:
            return f".{name}"
    base = _descriptor_value(holder, "base")
    if base is MISSING:
        return None
    return ".base" if base is held else ELEMENT


def _descriptor_value(holder: Any, name: str) -> Any:
    for parent in lineage(type(holder)):
        found = namespace(parent).get(name)
        if type(found) is GetSetDescriptorType:
            return value_of(found.__get__, holder)
    return MISSING


def _part_of_cache(cache: Any, held: Any) -> str:
    attributes = instance_dict(cache) or {}
    function = attributes.get("__wrapped__")
    if held is attributes:
        return ""
    if held is function:
        return ".__wrapped__"
    name = function.__qualname__ if type(function) is FunctionType else "a function"
    return f"lru_cache of {name}"


_MISSING = object()
