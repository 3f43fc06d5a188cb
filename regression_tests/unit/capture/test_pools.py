"""What Python's small-object allocator holds, read in a process that nothing else disturbs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from leakguard.capture.allocator import pool_memory

KEEP = """
from leakguard.capture.allocator import pool_memory
before = pool_memory()
kept = [(n, n) for n in range(200_000)]
full = pool_memory()
{forget}
after = pool_memory()
print(full["python_in_use"] - before["python_in_use"])
print(after["python_in_use"] - before["python_in_use"])
print(after["python_held"])
"""


def told(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONMALLOC": "pymalloc", **environment},
    )  # fmt: skip
    return [int(line) for line in done.stdout.split()]


def test_small_objects_are_in_use_while_they_live_and_held_after():
    grown, left, _ = told(KEEP.format(forget="del kept[:]"))
    assert grown > 200_000 * 56
    assert left < grown / 10


def test_pools_pinned_by_a_few_survivors_are_held():
    # One survivor in a hundred keeps every pool from going back to the kernel.
    _, left, held = told(KEEP.format(forget="kept = kept[::100]"))
    assert left < 2_000_000
    assert held > 5_000_000


def test_python_without_pools_holds_nothing_in_them():
    assert told(KEEP.format(forget=""), PYTHONMALLOC="malloc") == [0, 0, 0]


@pytest.mark.parametrize("_", range(3))
def test_reading_costs_the_process_no_block(_):
    pool_memory()
    before = sys.getallocatedblocks()
    for _ in range(100):
        pool_memory()
    assert sys.getallocatedblocks() - before < 50
