"""Reads classes without running their code, because metaclasses may override attribute access."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from types import MethodDescriptorType, ModuleType
from typing import Any

from leakguard.capture.library import is_library

_NAMESPACE = type.__dict__["__dict__"].__get__
_MODULE_NAMESPACE = _NAMESPACE(ModuleType)["__dict__"].__get__
_MRO = type.__dict__["__mro__"].__get__
_MODULE = type.__dict__["__module__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__
_FLAGS = type.__dict__["__flags__"].__get__
_BASIC_SIZE = type.__dict__["__basicsize__"].__get__
_DICT_OFFSET = type.__dict__["__dictoffset__"].__get__
_ITEM_SIZE = type.__dict__["__itemsize__"].__get__

# Classes whose ``__sizeof__`` may crash: up to Python 3.12 it follows a NULL pointer in an instance
# whose ``__init__`` never ran.
_UNSAFE_SIZES = frozenset({"_struct.Struct"})
LRU_CACHE: type = type(functools.lru_cache(len))

HEAP_TYPE = 1 << 9
HAS_GC = 1 << 14
MANAGED_DICT = 1 << 4 if sys.version_info >= (3, 11) else 0
PRE_HEADER = MANAGED_DICT | (1 << 3 if sys.version_info >= (3, 12) else 0)


def namespace(cls: type) -> Mapping[str, Any]:
    """Return the class's own namespace (not its bases')."""
    return _NAMESPACE(cls)  # type: ignore[no-any-return]


def module_namespace(module: ModuleType) -> dict[str, Any]:
    """Return the module's ``__dict__``, even if its class overrides that; empty without one."""
    return _MODULE_NAMESPACE(module) or {}


def module_file(module: object) -> str | None:
    """Return the file of a module; None for a module without one, and for what is no module."""
    file = module_namespace(module).get("__file__") if type(module) is ModuleType else None
    return file if type(file) is str else None


def lineage(cls: type) -> tuple[type, ...]:
    """Return the method resolution order; only the class itself while the class is half made."""
    return _MRO(cls) or (cls,)


def flags(cls: type) -> int:
    """Return the type flags (``Py_TPFLAGS_*``)."""
    return _FLAGS(cls)  # type: ignore[no-any-return]


def basic_size(cls: type) -> int:
    """Return the fixed part of an instance in bytes, without collector and dict headers."""
    return _BASIC_SIZE(cls)  # type: ignore[no-any-return]


def item_size(cls: type) -> int:
    """Return the bytes of one item of a variable-size instance; 0 for fixed-size ones."""
    return _ITEM_SIZE(cls)  # type: ignore[no-any-return]


def dict_offset(cls: type) -> int:
    """Return the offset of ``__dict__`` in an instance; 0 if instances have none there."""
    return _DICT_OFFSET(cls)  # type: ignore[no-any-return]


def module_of(cls: type) -> str:
    """Return the name of the module that made the class; empty if it is unknown."""
    try:
        module = _MODULE(cls)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def qualified_name(cls: type) -> str:
    """Return ``module.qualname``; for builtins only the name."""
    module, name = module_of(cls), _QUALNAME(cls)
    return name if module in ("builtins", "") else f"{module}.{name}"


def derives(cls: type, base: type | None) -> bool:
    """Return whether ``base`` is in the lineage of ``cls``, without asking metaclass hooks."""
    for parent in _MRO(cls) or (cls,):  # noqa: SIM110 - asked for every class of every walk
        if parent is base:
            return True
    return False


def extends_a_package(cls: type, own: str) -> bool:
    """Return whether a base class is neither from package ``own`` nor the standard library."""
    packages = {module_of(base).partition(".")[0] for base in _MRO(cls) or (cls,)}
    return not packages <= {own, *sys.stdlib_module_names}


def from_standard_library(cls: type) -> bool:
    """Return whether the class names a module of the standard library as its module."""
    return module_of(cls).partition(".")[0] in sys.stdlib_module_names


def from_library(cls: type) -> bool:
    """Return whether the class comes from a library, judged by the file of its package."""
    file = module_file(sys.modules.get(module_of(cls).partition(".")[0]))
    return file is not None and is_library(file)


def from_extension(cls: type) -> bool:
    """Return whether the class is from an extension module outside of the standard library."""
    file = module_file(sys.modules.get(module_of(cls)))
    is_compiled = file is not None and file.endswith(tuple(EXTENSION_SUFFIXES))
    return is_compiled and not from_standard_library(cls)


def size_method(cls: type) -> Callable[[object], int]:
    """Return the first ``__sizeof__`` in the lineage that is C code of the standard library."""
    for parent in lineage(cls):
        found = namespace(parent).get("__sizeof__")
        if (
            type(found) is MethodDescriptorType
            and found.__objclass__ is parent
            and from_standard_library(parent)
            and qualified_name(parent) not in _UNSAFE_SIZES
        ):
            return found
    return object.__sizeof__
