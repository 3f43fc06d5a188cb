"""When a look asks who holds what."""

from __future__ import annotations

import dataclasses
from unittest import mock

import pytest

from leakguard.capture.recorder import Observation
from leakguard.live.look import Looker
from leakguard.live.meter import CostMeter
from leakguard.live.schedule import LAST, Depth, Prices, Schedule
from leakguard.live.suspicion import Suspicion
from leakguard.model import Census
from leakguard.testing import FakeClock


def looker(**seen: bool) -> Looker:
    """Return a looker that has seen this, in a run without a limit."""
    return looker_in(Schedule(None, mock.Mock(), mock.Mock()), **seen)


def looker_in(schedule: Schedule, **seen: bool) -> Looker:
    fresh = Looker(mock.Mock(), schedule, mock.Mock(), Suspicion(), None)
    return dataclasses.replace(fresh, **seen)


def test_last_look_asks_who_holds_what_where_memory_grows():
    assert looker(swells=True)._may_ask(9, LAST, grew=False)


def test_who_holds_what_is_always_asked_at_the_end_and_before_only_where_something_grows():
    assert looker()._may_ask(9, LAST, grew=False)
    assert not looker(swells=True)._may_ask(9, "spread", grew=False)


def loop_of_seconds(seconds: float, walk: float) -> Schedule:
    """Return the schedule of a long loop that took so long, where a walk has the price given."""
    clock, prices = FakeClock(), Prices("python", 100_000)
    schedule = Schedule(0.01, CostMeter(clock), prices, None)
    schedule.announce(60)
    clock.advance(seconds)
    prices.paid(Depth.HOLDERS, walk)
    return schedule


def test_memory_that_rose_is_asked_for_at_the_end_where_the_walk_is_no_large_part_of_the_run():
    for seconds, walk in ((3.0, 0.3), (3.0, 0.9), (60.0, 2.5)):
        last = looker_in(loop_of_seconds(seconds, walk), climbs=True)
        assert last._may_ask(59, LAST, grew=False), (seconds, walk)


def test_memory_that_rose_is_asked_for_at_the_end_whatever_it_costs():
    assert looker_in(loop_of_seconds(3.0, 2.5), climbs=True)._may_ask(59, LAST, grew=False)


def test_count_that_grew_is_asked_for_at_the_end_whatever_it_costs():
    assert looker_in(loop_of_seconds(3.0, 2.5), climbs=True, grows=True)._may_ask(
        59, LAST, grew=False
    )


@pytest.mark.parametrize(("leak", "climbs"), [(0, False), (1_000_000, True)])
def test_pages_held_free_in_part_are_no_memory_that_climbs_from_look_to_look(leak, climbs):
    looking = looker()
    for look in range(4):
        used = 200_000_000 + leak * look
        metrics = {"heap_in_use": used // 2, "python_in_use": used // 2, "heap_held": 1_000_000,
                   "rss_anonymous": used + 1_000_000 * look}  # fmt: skip
        looking._note_growth(Observation(metrics, {}, {}, census=Census({})))
    assert looking.climbs is climbs
