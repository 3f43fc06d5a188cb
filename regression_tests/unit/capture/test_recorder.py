"""The recorder walks the heap once for a start that the baseline follows at once, and no less."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import pytest

from leakguard import LeakGuard
from leakguard.capture import heap


class Widget:
    pass


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


@pytest.mark.skipif(
    sys.version_info[:2] not in ((3, 11), (3, 12)),
    reason="the calls of the guard make containers themselves there, and a second census is taken",
)
def test_a_baseline_right_after_the_start_is_the_same_census(censuses):
    widgets = [Widget() for _ in range(5)]
    with LeakGuard(watch={Widget: 5}, max_overhead=None) as guard:
        guard.snapshot("Ready", baseline=True)
        assert censuses() == 1
        guard.snapshot("Again")
        assert censuses() == 2
    start, baseline = guard.run.snapshots[:2]
    assert baseline.moment == "baseline"
    assert baseline.census.objects == start.census.objects
    assert baseline.watched[f"{__name__}.Widget"].count == len(widgets)


def test_what_is_made_after_the_start_is_in_the_baseline(censuses):
    with LeakGuard(watch={Widget: 1}, max_overhead=None) as guard:
        widget = Widget()
        guard.snapshot("Ready", baseline=True)
        assert censuses() == 2
    baseline = guard.run.snapshots[1]
    assert baseline.watched[f"{__name__}.Widget"].count == 1
    assert type(widget) is Widget


def test_a_look_that_names_no_moment_is_a_census_of_its_own(censuses):
    with LeakGuard(max_overhead=None) as guard:
        for _ in guard.generations([1]):
            with guard.phase("idle"):
                pass
        assert censuses() == 4  # the start, before and after the phase, the end of the generation
