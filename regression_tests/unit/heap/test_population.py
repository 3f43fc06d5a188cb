"""Objects counted by class in place, and freed objects that are kept for later ones."""

import gc
import subprocess
import sys

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import engine

pytestmark = pytest.mark.skipif(engine.NAME != "compiled", reason="no compiled scan")


class Kept:
    pass


class List(list):
    pass


def test_gains_of_a_class_and_of_builtin_types_are_told_apart():
    before = heap.population()
    kept = [Kept() for _ in range(7)]
    lists = [[index] for index in range(100)]
    most, others = heap.gains(before, heap.population())
    del kept, lists

    assert most == 7
    assert 100 <= others <= 120


def test_what_was_freed_is_no_gain():
    gone = [Kept() for _ in range(500)]
    before = heap.population()
    gone.clear()
    gone.extend(Kept() for _ in range(3))

    assert heap.gains(before, heap.population())[0] == 0


@pytest.mark.parametrize("objects", [0, 1, 2, 3, 1_000])
def test_each_object_is_counted_once(objects):
    """A list is gone through from both of its ends, which meet in its middle."""
    gc.collect()
    kept = [List() for _ in range(objects)]
    gc.collect()
    before = heap.population()
    extra = [List() for _ in range(objects)]
    most, _ = heap.gains(before, heap.population())
    del kept, extra

    assert most == objects


def test_more_objects_than_may_be_counted_are_not_counted():
    assert engine.population(100) is None
    assert engine.population(10_000_000) is not None


def test_a_collection_that_is_under_way_is_waited_for():
    seen = []

    def during(phase, info):
        seen.append(heap.population() is None)

    gc.callbacks.append(during)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(during)

    assert len(seen) == 2


def test_freed_tuples_that_are_kept_are_not_in_use():
    program = """if True:
        import gc, sys
        from leakguard.capture import heap
        from leakguard.capture.allocator import pool_memory, python_blocks
        from leakguard.capture.heap import engine
        def numbers():
            return python_blocks()["python_blocks"], pool_memory()["python_in_use"]
        numbers()
        gc.collect()  # it empties what was kept
        before, raw, spare = numbers(), sys.getallocatedblocks(), engine.spare()
        kept = [(number, number) for number in range(10_000, 11_000)]
        kept.clear()
        after, now = numbers(), engine.spare()
        print(now[0] - spare[0], now[1] - spare[1])
        print(sys.getallocatedblocks() - raw, after[0] - before[0], after[1] - before[1])
    """
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    (kept, size), (raw, blocks, used) = (
        [int(word) for word in line.split()] for line in done.stdout.splitlines()
    )

    assert 900 <= kept <= 1_100
    assert size == pytest.approx(64 * kept, rel=0.05)  # a header of 16 bytes, 24, and two of 8
    assert raw > 900
    assert abs(blocks) < 60
    assert abs(used) < 4_000
