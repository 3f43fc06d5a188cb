"""The sampled walk names who holds the memory, within its steps, and leaves nothing behind."""

from __future__ import annotations

import gc
import sys
from collections import deque
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

import pytest

from leakguard.capture.sampled_walk import MOST_STEPS, estimate


class Item:
    """Keeps a block."""

    def __init__(self, size):
        self.block = bytearray(size)


class Owner:
    """Keeps rows."""

    def __init__(self):
        self.rows = []


@pytest.fixture
def program(monkeypatch, tmp_path):
    module = module_from_spec(ModuleSpec("watched_program", None))
    module.__file__ = str(tmp_path / "watched_program.py")
    monkeypatch.setitem(sys.modules, "watched_program", module)
    return module


def holder(found, path):
    return next((h for h in found.holders if h.path == path), None)


@pytest.mark.parametrize(
    ("made", "size"),
    [
        (lambda: [bytearray(400_000) for _ in range(300)], 120e6),
        (lambda: {k: "x" * (400_000 + k) for k in range(300)}, 120e6),
        (lambda: deque(Item(400_000) for _ in range(300)), 120e6),
        (lambda: [{"rows": [bytearray(100_000) for _ in range(4)]} for _ in range(300)], 120e6),
    ],
    ids=["list", "dict", "deque of objects", "nested"],
)  # fmt: skip
def test_the_largest_container_is_named_with_its_bytes(program, made, size):
    program.kept = made()

    first = estimate({}).holders[0]

    assert first.path == "watched_program.kept[*]"
    assert first.entries == 300
    assert 0.9 * size < first.retained_bytes < 1.1 * size


def test_arrays_count_once_however_often_they_are_listed(program):
    numpy = pytest.importorskip("numpy")
    program.same = [numpy.ones(5_000_000)] * 1_000
    program.own = [numpy.ones(100_000) for _ in range(100)]

    found = estimate({})

    assert holder(found, "watched_program.own[*]").retained_bytes == pytest.approx(80e6, rel=0.1)
    same = holder(found, "watched_program.same[*]")
    assert same is not None
    assert same.retained_bytes < 60e6


def test_what_grew_since_comes_before_what_is_large(program):
    program.table = [bytearray(1_000_000) for _ in range(150)]
    program.owners = [Owner() for _ in range(3)]
    for owner in program.owners:
        owner.rows.append(bytearray(2_000_000))
    before = estimate({}).sizes
    for owner in program.owners:
        owner.rows.extend(bytearray(500_000) for _ in range(40))

    found = estimate(before)

    assert found.holders[0].path == "watched_program.owners[*].rows[*]"
    assert (found.holders[0].before, found.holders[0].entries) == (3, 123)


def test_a_walk_ends_after_its_steps(program):
    program.kept = [[object() for _ in range(50)] for _ in range(5_000)]

    found = estimate({}, steps=500)

    assert not found.whole
    assert found.steps < 700 < MOST_STEPS


def test_no_object_outlives_the_walk_and_no_code_of_the_program_runs(program):
    class Touchy:
        def __getattribute__(self, name):
            raise AssertionError("code of the program ran")

        def __sizeof__(self):
            raise AssertionError("code of the program ran")

    program.kept = [Touchy() for _ in range(100)]
    estimate({})
    gc.collect()
    counts = sys.getrefcount(program.kept), sys.getrefcount(program.kept[0])
    objects = len(gc.get_objects())

    estimate({})
    gc.collect()

    assert (sys.getrefcount(program.kept), sys.getrefcount(program.kept[0])) == counts
    assert len(gc.get_objects()) <= objects + 50
