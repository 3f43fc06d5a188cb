"""A container with room for a known number of entries says so."""

from __future__ import annotations

from collections import deque

import pytest
from heap_engines import Engine, each_engine


class Entry:
    def __init__(self) -> None:
        self.text = bytearray(50_000)


class Buffer:
    slots: object


def _half_full_list() -> list[object]:
    return [*(Entry() for _ in range(10)), *[None] * 10]


def _half_full_array() -> object:
    slots = pytest.importorskip("numpy").empty((4, 5), dtype=object)
    slots[:2] = [[Entry() for _ in range(5)] for _ in range(2)]
    return slots


ROOMS = {
    "list with empty slots": (_half_full_list, 20),
    "object array": (_half_full_array, 20),
    "bounded deque": (lambda: deque((Entry() for _ in range(10)), maxlen=30), 30),
    "list": (lambda: [Entry() for _ in range(10)], None),
    "deque": (lambda: deque(Entry() for _ in range(10)), None),
    "dict": (lambda: {i: Entry() for i in range(100)}, None),
}


@each_engine
@pytest.mark.parametrize(("make", "capacity"), ROOMS.values(), ids=ROOMS.keys())
def test_room_is_told_where_something_bounds_it(engine: Engine, make, capacity) -> None:
    buffer = Buffer()
    buffer.slots = make()
    holders = {holder.path: holder for holder in engine.inspect(limit=40).holders}
    assert holders[f"{__name__}.Buffer.slots[*]"].capacity == capacity
