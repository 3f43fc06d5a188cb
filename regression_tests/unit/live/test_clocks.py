"""Whose clock measures a run, and whose the guard's own cost."""

from __future__ import annotations

import time

import pytest

from leakguard import LeakGuard
from leakguard.capture.heap.process_copy import own_seconds


@pytest.mark.parametrize("clock", [time.perf_counter, time.monotonic, time.process_time])
def test_with_each_clock_of_the_machine_the_guard_pays_for_the_copies_it_looks_in(clock) -> None:
    settings = LeakGuard(report=None, clock=clock)._settings
    assert settings.clock is clock
    assert settings.own_clock is own_seconds


def test_with_a_simulated_clock_what_the_guard_costs_is_simulated_too() -> None:
    def clock() -> float:
        return 1.0

    settings = LeakGuard(report=None, clock=clock)._settings
    assert settings.own_clock is clock
    assert (settings.queued(), settings.faults()) == (0.0, 0.0)
