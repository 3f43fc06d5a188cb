"""ctypes objects own blocks of memory that ``sys.getsizeof`` does not count."""

from __future__ import annotations

import ctypes

import pytest
from heap_engines import ENGINES, Engine

FRAME = ctypes.c_ubyte * 76_800


class Header(ctypes.Structure):
    _fields_ = [("values", ctypes.c_double * 500), ("length", ctypes.c_int)]


class Pair(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("y", ctypes.c_double)]


class Overridden(ctypes.Structure):
    _fields_ = [("values", ctypes.c_double * 500)]

    def __getattribute__(self, name):
        raise AssertionError("user code ran")


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request) -> Engine:
    return request.param


def _bytes(engine: Engine, name: str) -> int:
    return sum(
        entry.bytes or 0
        for known, entry in engine.census().census.types.items()
        if known.rpartition(".")[2] == name
    )


def test_arrays_and_structures_count_the_memory_they_own(engine: Engine) -> None:
    kept = [FRAME() for _ in range(10)]
    headers = [Header() for _ in range(10)]
    assert 10 * 76_800 <= _bytes(engine, "c_ubyte_Array_76800") < 10 * 77_100
    assert 10 * 4_008 <= _bytes(engine, "Header") < 10 * 4_300
    del kept, headers


def test_views_of_memory_that_is_anothers_count_none_of_it(engine: Engine) -> None:
    memory = bytearray(76_800)
    owner = FRAME()
    views = [FRAME.from_buffer(memory), FRAME.from_address(ctypes.addressof(owner))]
    fields = [header.values for header in (Header(), Header())]
    assert _bytes(engine, "c_ubyte_Array_76800") < 2 * 76_800
    assert _bytes(engine, "c_double_Array_500") < 4_000
    del views, fields


def test_what_lies_in_the_object_is_not_counted_twice(engine: Engine) -> None:
    pairs = [Pair() for _ in range(100)]
    per_pair = _bytes(engine, "Pair") / 100
    assert per_pair == pytest.approx(Pair.__basicsize__ + 16, abs=32)
    del pairs


def test_sizing_runs_no_code_of_the_program(engine: Engine) -> None:
    kept = [Overridden() for _ in range(3)]
    assert _bytes(engine, "Overridden") >= 3 * 4_000
    del kept


def test_both_ways_to_size_a_block_say_the_same() -> None:
    from leakguard.capture.heap import sizes

    said = sizes.block_method(FRAME)
    assert said is not None
    owner = FRAME()
    for item in (owner, FRAME.from_buffer(owner), Pair(), Header()):
        assert said(item) == sizes._block_size(*said.args, item)  # type: ignore[attr-defined]
    assert sizes.block_method(dict) is None
