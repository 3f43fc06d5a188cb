"""The recorder walks the heap where a look is asked for, and nowhere else."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from leakguard import LeakGuard
from leakguard.capture import heap


@pytest.fixture
def censuses(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many censuses were taken so far; what earlier tests left behind is gone."""
    gc.collect()
    taken, census = bytearray(), heap.census

    def counted(*args: object) -> heap.HeapCensus:
        taken.append(1)
        return census(*args)

    monkeypatch.setattr(heap, "census", counted)
    return lambda: len(taken)


def test_a_look_that_names_no_moment_is_a_census_of_its_own(censuses):
    with LeakGuard(max_overhead=None) as guard:
        for _ in guard.generations([1]):
            with guard.phase("idle"):
                pass
        assert censuses() == 4  # the start, before and after the phase, the end of the generation
