"""Memory that nothing reachable holds: objects with a reference too many, blocks never freed.

What an extension does wrong is done here through ``ctypes``: the interpreter's own functions take a
reference that nobody gives back, or a block that nobody frees.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace

_libc = ctypes.CDLL(None)
_python = ctypes.pythonapi
for _function in (_libc.malloc, _python.PyMem_Malloc, _python.PyObject_Malloc):
    _function.restype, _function.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
for _function in (_libc.free, _python.PyMem_Free, _python.PyObject_Free):
    _function.restype, _function.argtypes = None, [ctypes.c_void_p]
for _function in (_python.Py_IncRef, _python.Py_DecRef):
    _function.restype, _function.argtypes = None, [ctypes.py_object]
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _loop(guard: Any, lose: Callable[[int], None], generations: int, milliseconds: float) -> None:
    for generation in guard.generations(range(1, generations + 1)):
        with guard.phase("read"):
            pace(milliseconds / 2)
        with guard.phase("convert"):
            lose(generation)
            pace(milliseconds / 2)


def _pass_on(thing: Any, leak: bool) -> None:
    """Hand a thing to code that takes a reference, and gives it back only when it is right."""
    _python.Py_IncRef(thing)
    if not leak:
        _python.Py_DecRef(thing)


@leaking("convert", type="str", kind="native memory", within=4, size=300 * 256)
def strings_with_a_reference_too_many(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for i in range(300):
            _pass_on(f"{generation:08d}{i:08d}{'x' * 180}", leak)

    _loop(guard, lose, 80, 40)


@leaking("convert", type="int", kind="native memory", within=4, size=2_000 * 32)
def numbers_with_a_reference_too_many(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for i in range(2_000):
            _pass_on(generation * 100_000 + i, leak)

    _loop(guard, lose, 60, 60)


@leaking("convert", type="tuple", kind="native memory", within=4, size=600 * 112)
def tuples_with_a_reference_too_many(guard: Any, leak: bool) -> None:
    small = list(range(8))

    def lose(generation: int) -> None:
        for i in range(600):
            small[0] = i % 200
            _pass_on(tuple(small), leak)

    _loop(guard, lose, 80, 40)


@leaking("convert", type="dict", kind="native memory", start=50, within=4, size=100 * 280)
def records_lost_from_generation_fifty(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for i in range(100):
            record = {"id": i, "at": generation, "name": "x", "state": None, "next": 0, "more": 1}
            _pass_on(record, leak and generation >= 50)

    _loop(guard, lose, 90, 40)


@leaking("convert", kind="native memory", within=4, size=300 * 208)
def blocks_of_pymem(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for _ in range(300):
            block = _python.PyMem_Malloc(200)
            if not leak:
                _python.PyMem_Free(block)

    _loop(guard, lose, 80, 40)


@leaking("convert", kind="native memory", start=60, within=4, size=1_000 * 64)
def blocks_of_pyobject_from_generation_sixty(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for _ in range(1_000):
            block = _python.PyObject_Malloc(64)
            if not leak or generation < 60:
                _python.PyObject_Free(block)

    _loop(guard, lose, 100, 40)


@leaking("convert", kind="native memory", start=30, within=4, size=40 * 4_112)
def blocks_of_malloc_from_generation_thirty(guard: Any, leak: bool) -> None:
    def lose(generation: int) -> None:
        for _ in range(40):
            block = _libc.malloc(4_096)
            ctypes.memset(block, 1, 4_096)
            if not leak or generation < 30:
                _libc.free(block)

    _loop(guard, lose, 90, 40)


@leaking("convert", kind="native memory", start=5, within=5, size=1_000_000 / 5)
def a_mapping_every_fifth_generation(guard: Any, leak: bool) -> None:
    read_write, private_anonymous = 3, 0x22

    def lose(generation: int) -> None:
        if generation % 5:
            return
        place = _libc.mmap(None, 1_000_000, read_write, private_anonymous, -1, 0)
        ctypes.memset(place, 1, 1_000_000)
        if not leak:
            _libc.munmap(place, 1_000_000)

    _loop(guard, lose, 100, 40)


@leaking("convert", type="ndarray", kind="native memory", start=2, within=4, size=200_000 / 2)
def an_array_lost_every_second_generation(guard: Any, leak: bool) -> None:
    import numpy as np

    def lose(generation: int) -> None:
        if generation % 2 == 0:
            _pass_on(np.ones(25_000), leak)

    _loop(guard, lose, 80, 40)
