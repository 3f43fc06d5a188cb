"""A collection says what only cycles had kept alive."""

from __future__ import annotations

import gc

import pytest

from leakguard.capture import heap


class Environment:
    def __init__(self) -> None:
        self.itself = self
        self.panel = bytearray(100_000)


@pytest.fixture(autouse=True)
def no_collector_of_its_own():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_freed_cycles_are_counted_by_type_with_their_bytes() -> None:
    for _ in range(12):
        Environment()
    found = heap.collect()
    assert found.types[f"{__name__}.Environment"] == 12
    assert found.freed >= 12
    assert found.bytes == pytest.approx(12 * 100_000, rel=0.1)
    assert found.uncollectable == 0


def test_what_is_still_referenced_is_not_freed() -> None:
    kept = [Environment() for _ in range(12)]
    assert f"{__name__}.Environment" not in heap.collect().types
    assert len(kept) == 12
