"""Decides which objects may be freed in a copy of the process without effects outside the copy.

Only what is listed as harmless may be freed: instances of classes made in Python without
``__del__``, and of C classes that are known to free only memory. Files, sockets, generators, tasks
and processes have finalizers, so they are not allowed.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from leakguard.capture.heap.adapters import PICTURES
from leakguard.capture.heap.classes import (
    HEAP_TYPE,
    derives,
    flags,
    lineage,
    module_of,
    namespace,
    qualified_name,
)
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.half_built import MadeInPython

# Packages with harmless C classes: deallocating an instance only frees memory, unless the class has
# a finalizer.
_INERT = frozenset({
    "builtins", "collections", "itertools", "functools", "types", "operator", "datetime", "decimal",
    "array", "re", "_sre", "_thread", "weakref", "_weakref", "_collections", "_functools", "enum",
    "abc", "_abc", "typing", "contextvars", "_contextvars", "random", "_random", "uuid", "json",
    "_json", "string", "fractions", "numpy", "torch",
})  # fmt: skip
# Kinds of devices of torch other than the CPU.
_DEVICES = ("cuda", "xpu", "mps")
# Modules whose weak reference callbacks only remove the entry of a freed object. So an object with
# such a callback may be freed. In matplotlib, the entry is a parent of a transform, or a listener
# of a figure.
_FORGETFUL = frozenset({
    "weakref", "_weakrefset", "torch.utils.weak", "matplotlib.transforms", "matplotlib.cbook",
})  # fmt: skip
# Offset in bytes of tp_dealloc in a type: after the three words of the PyVarObject header, tp_name,
# tp_basicsize and tp_itemsize. Source: Include/cpython/object.h.
_DEALLOC = ctypes.sizeof(ctypes.c_ssize_t) * 6
_CALLBACK = vars(weakref.ref)["__callback__"].__get__
# Offset in bytes of the callback in a weak proxy: after the object header and the pointer to the
# referenced object. Source: Include/cpython/weakrefobject.h.
_PROXY_CALLBACK = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
_FUNCTION = vars(MethodType)["__func__"].__get__
_MODULE_OF_GLOBALS = "__name__"


class Inertness:
    """Explains why objects may not be freed in a copy of the process."""

    def __init__(self, frameworks: Frameworks) -> None:
        self._frameworks = frameworks
        self._classes: dict[int, str | None] = {}

    def hindrance(self, items: Iterable[Any]) -> str | None:
        """Return why one of these objects may not be freed; None if all may."""
        return next(filter(None, map(self._reason, items)), None)

    def hindering(self, items: Iterable[Any]) -> list[Any]:
        """Return those of the objects that may not be freed."""
        return [item for item in items if self._reason(item) is not None]

    def _reason(self, item: Any) -> str | None:
        cls = type(item)
        if id(cls) not in self._classes:
            self._classes[id(cls)] = _of_class(cls, self._frameworks)
        return self._classes[id(cls)] or _of_callbacks(item) or _of_device(item, self._frameworks)


def _of_class(cls: type, frameworks: Frameworks) -> str | None:
    pictures = (parent for parent in lineage(cls) if qualified_name(parent) in PICTURES)
    of_pictures = frozenset(id(base) for picture in pictures for base in lineage(picture))
    for parent in lineage(cls):
        if "__del__" in namespace(parent):
            return f"the finalizer of {qualified_name(parent)} would run"
        if parent is object or _is_made_in_python(parent, frameworks):
            continue
        if id(parent) in of_pictures:  # pictures consist of pixels only
            continue
        named = qualified_name(parent)
        if module_of(parent).partition(".")[0] not in _INERT or _is_of_device(named):
            return f"the effect of freeing {named} is unknown"
    return None


def _is_made_in_python(cls: type, frameworks: Frameworks) -> bool:
    """Return whether the class was made by Python code.

    Python subclasses of tensors are recognized apart, because torch replaces their tp_dealloc.
    """
    if _dealloc_of(cls) == _IN_PYTHON:
        return True
    made = bool(flags(cls) & HEAP_TYPE) and not module_of(cls).startswith("torch._C")
    return made and frameworks.torch is not None and derives(cls, frameworks.torch.kind)


def _of_callbacks(item: Any) -> str | None:
    """Return why the weak reference callbacks of ``item`` hinder freeing it; None if they do not.

    A callback hinders if it may do more than remove the item's entry from a collection.
    """
    if not _has_weak_references(item):
        return None
    for reference in weakref.getweakrefs(item):
        callback = _callback_of(reference)
        if callback is None:
            continue
        if not _forgets(callback):
            return f"a callback waits for the end of a {qualified_name(type(item))}"
    return None


def _callback_of(reference: Any) -> Any:
    """Return the callback of a weak reference or proxy; a proxy has no attribute to read it."""
    if derives(type(reference), weakref.ref):
        return _CALLBACK(reference)
    at = ctypes.c_size_t.from_address(id(reference) + _PROXY_CALLBACK).value
    return ctypes.cast(at, ctypes.py_object).value if at else None


def _forgets(callback: Any) -> bool:
    """Return whether a callback only removes the entry of the freed object.

    The closure of the callback is checked too, because the callback of a weak method has the real
    target there.
    """
    function = callback.func if type(callback) is partial else callback
    function = _FUNCTION(function) if type(function) is MethodType else function
    if type(function) is not FunctionType:
        return False
    if function.__globals__.get(_MODULE_OF_GLOBALS) not in _FORGETFUL:
        return False
    cells = map(_content, function.__closure__ or ())
    return all(derives(type(kept), weakref.ref) or kept is None or _forgets(kept) for kept in cells)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None


def _has_weak_references(item: Any) -> bool:
    return weakref.getweakrefcount(item) > 0


def _of_device(item: Any, frameworks: Frameworks) -> str | None:
    if frameworks.torch is None or not derives(type(item), frameworks.torch.kind):
        return None
    device = frameworks.describe(item).device
    if device is None or device.partition(":")[0] in ("cpu", "meta"):
        return None
    return f"a tensor lies on {device}"


def _is_of_device(name: str) -> bool:
    return any(device in name.lower() for device in _DEVICES)


def _dealloc_of(cls: type) -> int:
    return ctypes.c_size_t.from_address(id(cls) + _DEALLOC).value


_IN_PYTHON = _dealloc_of(MadeInPython)
