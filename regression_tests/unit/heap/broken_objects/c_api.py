"""The C API, for what Python code cannot make."""

from __future__ import annotations

import ctypes
from typing import Any

POINTER = ctypes.sizeof(ctypes.c_void_p)


def api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


OBJECT, SIZE = ctypes.py_object, ctypes.c_ssize_t
new_list = api("PyList_New", OBJECT, SIZE)
new_tuple = api("PyTuple_New", OBJECT, SIZE)
new_cell = api("PyCell_New", OBJECT, ctypes.c_void_p)
new_bytes = api("PyBytes_FromStringAndSize", OBJECT, ctypes.c_void_p, SIZE)
new_text = api("PyUnicode_New", OBJECT, SIZE, ctypes.c_uint32)
new_integer = api("_PyLong_New", OBJECT, SIZE)
new_record = api("PyStructSequence_New", OBJECT, OBJECT)
allocate = api("PyType_GenericAlloc", OBJECT, OBJECT, SIZE)
untrack = api("PyObject_GC_UnTrack", None, OBJECT)
retain = api("Py_IncRef", None, OBJECT)


def blank(cls: type, items: int = 0) -> Any:
    """Allocate an instance and do nothing more; it is never freed, since that would read it."""
    made = allocate(cls, items)
    word_at(id(made)).value += 1  # an argument of ctypes would be asked for an attribute
    return made


def word_at(address: int) -> ctypes.c_size_t:
    return ctypes.c_size_t.from_address(address)


def store(sequence: list[Any], position: int, item: object) -> None:
    """Fill one slot of a list without looking at what was in it."""
    slots = word_at(id(sequence) + tuple.__basicsize__).value
    retain(item)
    word_at(slots + position * POINTER).value = id(item)


def empty_slot(sequence: Any, position: int) -> None:
    """Make one slot of a list or a tuple NULL; its element is never freed."""
    slots = id(sequence) + tuple.__basicsize__
    if isinstance(sequence, list):
        slots = word_at(slots).value
    word_at(slots + position * POINTER).value = 0
