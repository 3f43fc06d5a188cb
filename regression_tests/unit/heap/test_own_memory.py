"""What a walk needs is gone when it is over: from the process, not only from the program."""

from __future__ import annotations

import gc

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
