"""A collection says what only cycles had kept alive."""

from __future__ import annotations

import gc

import pytest

from leakguard.capture import heap
from leakguard.capture.heap import collector

pytestmark = pytest.mark.usefixtures("only_own_garbage")


class Environment:
    def __init__(self) -> None:
        self.itself = self
        self.panel = bytearray(100_000)


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


def test_collector_that_the_program_has_switched_off_is_not_run_beside_its_other_threads(
    monkeypatch,
):
    """What a thread leaves for itself to clear up may end the process when another one frees it."""
    monkeypatch.setattr(collector, "other_threads_run", lambda: True)
    assert not collector.may_collect()  # switched off for these tests
    gc.enable()
    assert collector.may_collect()
    gc.disable()
    monkeypatch.setattr(collector, "other_threads_run", lambda: False)
    assert collector.may_collect()


@pytest.mark.parametrize(("others", "times"), [(False, 1), (True, 2)])
def test_census_of_just_before_is_not_taken_again_unless_other_threads_ran(
    monkeypatch, others, times
) -> None:
    monkeypatch.setattr(collector, "other_threads_run", lambda: others)
    taken = []

    def census() -> heap.HeapCensus:
        taken.append(heap.census())
        return taken[-1]

    for _ in range(12):
        Environment()
    found = collector.take_collection(census, heap.census().census)
    assert found.types[f"{__name__}.Environment"] == 12
    assert len(taken) == times
