"""What a walk needs is gone when it is over: from the process, not only from the program."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest
from heap_engines import COMPILED, needs_both

from leakguard.capture.allocator import allocator_memory
from leakguard.capture.probe import Unavailable

pytestmark = needs_both


def _held() -> int:
    try:
        return int(allocator_memory()["heap_held"])
    except Unavailable as reason:
        pytest.skip(str(reason))


def test_deep_look_leaves_nothing_with_the_allocator() -> None:
    made = [{"number": float(number), "text": str(number)} for number in range(200_000)]
    assert COMPILED is not None
    gc.collect()
    before = _held()
    for _ in range(3):
        assert COMPILED.inspect().objects > 3 * len(made)
    assert _held() - before < 8_000_000  # the columns of 600,000 objects alone take more


_PEAK_OF_A_LOOK = """
def peak():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024

from leakguard.capture import heap
kept = [{"number": [float(number)]} for number in range(300_000)]
before = peak()
found = heap.inspect()
print(heap.ENGINE, found.objects, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is told by Linux")
def test_deep_look_has_at_most_a_hundred_bytes_an_object() -> None:
    command = [sys.executable, "-c", _PEAK_OF_A_LOOK]
    environment = {**os.environ, "LEAKGUARD_PURE": ""}
    told = subprocess.check_output(command, env=environment, text=True)
    engine, objects, peak = told.split()
    assert engine == "compiled"
    assert int(peak) < 100 * int(objects)
