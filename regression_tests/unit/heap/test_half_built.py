"""Objects that were allocated and never finished: a look leaves them, and the process, alone."""

from __future__ import annotations

import ctypes
import sys

from heap_engines import Engine, each_engine

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


@each_engine
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


@each_engine
def test_tuples_with_empty_slots_are_looked_at_and_left_alone(engine: Engine) -> None:
    half = [_new_tuple(3), {"inside": _new_tuple(1)}, _new_list(0)]
    engine.census()
    found = engine.inspect(targets=list(half)).held
    assert all(entry is not None and entry.held_by for entry in found)
