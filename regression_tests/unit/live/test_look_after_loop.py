"""The look where a loop ends, whose function is about to let go of what it made."""

from __future__ import annotations

import pytest

from leakguard import LeakGuard
from leakguard.live.look import Looker
from leakguard.live.schedule import Schedule
from leakguard.model.snapshot import LOOP_ENDED
from leakguard.testing import FakeClock


@pytest.fixture
def looks_are_dear(monkeypatch):
    """No generation is looked at, and no budget pays for a look at who holds what."""
    monkeypatch.setattr(Looker, "affords_holders", False)
    monkeypatch.setattr(Schedule, "reason", lambda self, index, *, last=False: None)


@pytest.mark.usefixtures("looks_are_dear")
def test_loop_gets_its_last_look_if_it_is_the_longest_so_far():
    clock, seen = FakeClock(), []
    with LeakGuard(report=None, clock=clock) as guard:
        for seconds in (10.0, 2.0, 4.0, 1.0, 20.0):
            with guard.generation() as generation:
                clock.advance(seconds)
            generation.loop_over()
            seen.append(guard.run.snapshots[-1].label == LOOP_ENDED)
    # The first, and those at whose end the program has run half as long again as at the last look.
    assert seen == [True, False, True, False, True]
