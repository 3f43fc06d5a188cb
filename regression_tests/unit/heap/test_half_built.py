"""Objects that were allocated and never finished: a look leaves them, and the process, alone."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import socket
import sys
from typing import Any

import pytest
from broken_objects.c_api import blank, untrack
from heap_engines import Engine, both_engines

from leakguard.capture.heap import frameworks
from leakguard.capture.heap.half_built import entries_of

_new_list = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t)(("PyList_New", ctypes.pythonapi))
_new_tuple = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_ssize_t)(
    ("PyTuple_New", ctypes.pythonapi)
)


class Thing:
    pass


def _store(sequence: object, position: int, item: object) -> None:
    """Fill one slot of a list as C code does."""
    slots = ctypes.c_void_p.from_address(id(sequence) + tuple.__basicsize__).value
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
    ctypes.c_void_p.from_address(slots + position * 8).value = id(item)


@both_engines
def test_a_list_with_empty_slots_is_counted_and_its_elements_are_found(engine: Engine) -> None:
    half, thing = _new_list(1000), Thing()
    _store(half, 7, thing)
    census = engine.census({"things": Thing}, large=8000)
    held = engine.inspect(targets=[half, thing]).held
    assert census.watched == {"things": 1}
    lists = [entry.bytes for entry in census.census.large if entry.type == "list"]
    assert sys.getsizeof(half) in lists
    assert held[0] is not None and held[0].held_by is not None
    assert held[1] is not None and held[1].held_by is not None


@both_engines
def test_tuples_with_empty_slots_are_looked_at_and_left_alone(engine: Engine) -> None:
    half = [_new_tuple(3), {"inside": _new_tuple(1)}, _new_list(0)]
    engine.census()
    found = engine.inspect(targets=list(half)).held
    assert all(entry is not None and entry.held_by for entry in found)


# A class that C code declares ends here, instances of ``type`` that Python code makes much later:
# sizeof(PyTypeObject) is 408 to 416 bytes in CPython 3.10 to 3.13.
_STATIC_CLASS = 416
_KEPT: list[object] = []


def _at_the_end_of_its_mapping(cls: type, pages: mmap.mmap) -> Any:
    """Copy a class that C code declares to where the next page cannot be read."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    guard = ctypes.c_void_p(start + mmap.PAGESIZE)
    assert ctypes.CDLL(None).mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    copy = start + mmap.PAGESIZE - _STATIC_CLASS
    ctypes.memmove(copy, id(cls), _STATIC_CLASS)
    return ctypes.cast(copy, ctypes.py_object).value


@both_engines
def test_no_more_of_a_class_is_read_than_there_is(engine: Engine) -> None:
    child = os.fork()
    if child == 0:
        pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        _KEPT.append(_at_the_end_of_its_mapping(socket.SocketType, pages))
        engine.census()
        found = engine.inspect(targets=[*_KEPT]).held
        os._exit(0 if found[0] is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_dict_that_a_thread_changes_meanwhile_is_read_to_its_end() -> None:
    changed = {"first": 1, "second": 2}
    entries = entries_of(changed)
    assert next(entries) == ("first", 1)
    changed["third"] = 3
    assert set(entries) == {("first", 1), ("second", 2), ("third", 3)}


@pytest.mark.parametrize(("module", "name"), [("numpy", "ndarray"), ("torch", "Tensor")])
def test_an_array_that_was_only_allocated_is_not_asked_for_what_it_lacks(
    module: str, name: str
) -> None:
    half = blank(getattr(pytest.importorskip(module), name))
    if gc.is_tracked(half):
        untrack(half)  # the collector would ask it, and end this process
    known = frameworks.loaded()
    assert known.describe(half) == frameworks.Description()
    assert known.own_buffer(half) is None
