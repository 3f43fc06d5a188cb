"""The ring of losses behaves as a bounded deque and takes no more memory when it fills."""

from __future__ import annotations

import sys
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_trainer.loss_ring import LossRing


@given(st.integers(1, 7), st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_ring_keeps_what_a_bounded_deque_keeps(capacity: int, losses: list[float]) -> None:
    ring, kept = LossRing(capacity), deque[float](maxlen=capacity)
    ring.extend(losses)
    kept.extend(losses)
    assert list(ring) == list(kept)
    assert len(ring) == len(kept)
    assert not kept or ring[-1] == kept[-1]


def test_filling_takes_no_memory() -> None:
    ring = LossRing(1000)
    for number in range(100):
        ring.append(number)
    before = sys.getallocatedblocks()
    for number in range(800):
        ring.append(float(number))
    assert sys.getallocatedblocks() - before < 20


def test_cleared_ring_is_empty() -> None:
    ring = LossRing(3)
    ring.extend([1.0, 2.0])
    ring.clear()
    assert list(ring) == []


def test_ring_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="keeps at least one, got 0"):
        LossRing(0)
