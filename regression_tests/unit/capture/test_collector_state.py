"""Whether the program collects is told as it is, whatever the guard does meanwhile."""

from __future__ import annotations

import gc

from leakguard.capture.heap.collector import (
    collector_held,
    collector_state,
    run_held,
    run_released,
)


def test_collector_that_the_guard_holds_back_is_still_the_programs():
    with collector_held(), collector_held():
        assert not gc.isenabled()
        assert collector_state()["gc_enabled"] == 1
    assert gc.isenabled()


def test_collector_that_the_program_switched_off_is_off():
    gc.disable()
    try:
        with collector_held():
            assert collector_state()["gc_enabled"] == 0
        assert collector_state()["gc_enabled"] == 0
    finally:
        gc.enable()


def test_collector_that_another_thread_switches_off_during_a_look_stays_off():
    def look():
        run_released(gc.disable)  # what another thread calls while the copy works
        return gc.isenabled(), collector_state()["gc_enabled"]

    try:
        assert run_held(look) == (False, 0)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_collector_is_on_again_after_a_look_in_which_nobody_switched_it_off():
    assert run_held(lambda: run_released(gc.isenabled))
    assert gc.isenabled()


def test_doubles_that_a_program_puts_in_place_of_the_collectors_functions_are_not_called(
    monkeypatch,
):
    called = []
    for name in ("enable", "disable", "isenabled"):
        monkeypatch.setattr(gc, name, lambda name=name: called.append(name))
    run_held(lambda: run_released(int))
    assert called == []
