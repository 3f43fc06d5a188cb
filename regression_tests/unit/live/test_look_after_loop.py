"""The look where a loop ends, whose function is about to let go of what it made."""

from __future__ import annotations

import pytest

from leakguard import LeakGuard
from leakguard.live.look import Looker
from leakguard.live.schedule import Depth, Schedule
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


class Kept:
    """What leaks."""


kept: list[Kept] = []


@pytest.mark.parametrize(("leaks", "ends"), [(True, 1), (False, 0)])
def test_who_holds_what_grew_is_asked_after_a_last_generation_that_could_not_afford_it(
    monkeypatch, leaks, ends
):
    affords = Schedule.affords
    monkeypatch.setattr(
        Schedule,
        "affords",
        lambda self, depth, times=1: depth is not Depth.HOLDERS and affords(self, depth, times),
    )
    monkeypatch.setattr(Schedule, "reason", lambda self, index, *, last=False: "spread")
    kept.clear()
    with LeakGuard(report=None, trace="off") as guard:
        for _ in range(8):
            with guard.generation():
                kept.extend(Kept() for _ in range(50 if leaks else 0))
    asked = [s.moment for s in guard.run.snapshots if s.holders]
    assert [s.moment for s in guard.run.snapshots].count("end") == ends
    assert asked == ["end"] * ends
    holders = [f.held_by for f in guard.report().findings]
    assert holders == [f"{__name__}.kept[*]"] * ends
