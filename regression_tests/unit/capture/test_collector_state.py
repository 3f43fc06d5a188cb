"""Whether the program collects is told as it is, whatever the guard does meanwhile."""

from __future__ import annotations

import gc

from leakguard.capture.heap.collector import collector_held, collector_state


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
