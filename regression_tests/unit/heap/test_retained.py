"""Retained bytes are what dropping the entries releases, measured by dropping them."""

from __future__ import annotations

import sys
import tracemalloc
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from heap_engines import Engine, each_engine


class Record:
    def __init__(self, number: int) -> None:
        self.number = number + 1000
        self.values = [number * 1.5 + index for index in range(20)]
        self.name = f"record number {number}"


class Slim:
    __slots__ = ("left", "right")

    def __init__(self, number: int) -> None:
        self.left, self.right = number + 1000, float(number)


class Owner:
    kept: object


COUNT = 4000
KINDS = {
    "instances": lambda: [Record(i) for i in range(COUNT)],
    "slotted instances": lambda: [Slim(i) for i in range(COUNT)],
    "floats": lambda: [i * 1.5 for i in range(COUNT)],
    "dicts": lambda: [{"reward": i * 1.5, "step": i + 1000} for i in range(COUNT)],
    "tuples in a deque": lambda: deque((i * 1.5, f"text {i}") for i in range(6 * COUNT)),
    "a dict of lists": lambda: {i: [float(i)] * 30 for i in range(COUNT)},
    "a set of texts": lambda: {f"a text of some length {i}" for i in range(COUNT)},
    "bytes": lambda: [bytes(2000) for _ in range(COUNT)],
    "closures": lambda: [lambda kept=[float(i)] * 9: kept for i in range(COUNT)],
}


def _fill_free_lists() -> None:
    """Let what dies go back to the allocator: CPython keeps up to 2,000 dead tuples a length."""
    spare = [tuple(range(length)) for length in range(1, 20) for _ in range(2000)]
    spare.clear()


def _released(make: Callable[[], object]) -> int:
    """Return the bytes that dropping what `make` makes gives back to the allocator."""
    owner = Owner()
    tracemalloc.start()
    try:
        owner.kept = make()
        _fill_free_lists()
        before = tracemalloc.get_traced_memory()[0]
        owner.kept.clear()  # type: ignore[attr-defined]
        return before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def _told(engine: Engine, make: Callable[[], object]) -> int:
    """Return the retained bytes that the engine tells of what `make` makes.

    Apart from the dropping: a walk under tracemalloc takes ten times as long.
    """
    owner = Owner()
    owner.kept = make()
    retained = {holder.path: holder.retained_bytes for holder in engine.inspect(limit=1000).holders}
    return retained[f"{__name__}.Owner.kept[*]"]


@each_engine
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
def test_what_is_told_is_released_within_ten_percent(engine: Engine, make) -> None:
    assert _told(engine, make) == pytest.approx(_released(make), rel=0.10)


@each_engine
def test_arrays_release_their_storage(engine: Engine) -> None:
    np = pytest.importorskip("numpy")

    def make() -> object:
        return [np.zeros(5000)[2:] for _ in range(100)]

    assert _told(engine, make) == pytest.approx(_released(make), rel=0.02)


@each_engine
def test_what_others_hold_too_is_not_released(engine: Engine) -> None:
    shared = [bytes(2000) for _ in range(1000)]

    def make() -> object:
        return [*shared, *(bytes(3000) for _ in range(100))]

    told = _told(engine, make)
    assert told == pytest.approx(_released(make), rel=0.10)
    assert told < 400_000


@each_engine
def test_a_target_retains_what_dies_with_it(engine: Engine) -> None:
    owner = Owner()
    owner.kept = [Record(i) for i in range(100)]
    owner.kept[0].payload = bytearray(500_000)  # type: ignore[index]
    found = engine.inspect(targets=owner.kept[:1]).held[0]  # type: ignore[index]
    assert found.retained_bytes == pytest.approx(500_000, rel=0.01)


@each_engine
def test_instances_that_retain_much_are_large(engine: Engine) -> None:
    owner = Owner()
    owner.kept = [bytearray(200_000) for _ in range(20)]
    found = [e for e in engine.inspect(large=3_000_000).large if e.type == f"{__name__}.Owner"]
    assert [e.retained_bytes for e in found] == [pytest.approx(4_000_000, rel=0.01)]
    assert found[0].held_by is not None


@each_engine
def test_two_holders_of_the_same_share_it_and_release_nothing_alone(engine: Engine) -> None:
    first, second = Owner(), Owner()
    first.kept = [bytearray(300_000) for _ in range(5)]
    second.kept = list(first.kept)
    targets = [first.kept, second.kept]
    told = [held.retained_bytes for held in engine.inspect(targets=targets).held]
    assert all(retained < 10_000 for retained in told)


@each_engine
def test_figures_retain_their_pixels(engine: Engine, agg) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=100)
    agg.FigureCanvasAgg(figure).draw()
    (answer,) = engine.inspect(targets=[figure]).held
    assert answer is not None
    assert answer.retained_bytes > 800 * 500 * 4


@each_engine
def test_small_arrays_are_told_with_their_shape_and_strides(engine: Engine) -> None:
    arrays = [np.zeros(6, dtype=np.float32) for _ in range(1_000)]
    (answer,) = engine.inspect(targets=[arrays]).held
    assert answer is not None
    each = (answer.retained_bytes - sys.getsizeof(arrays)) / len(arrays)
    assert each == sys.getsizeof(arrays[0])
