"""When a look asks who holds what."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest

from leakguard.capture.recorder import Observation
from leakguard.live.inquiry import Inquiry
from leakguard.live.look import Look, Looker
from leakguard.live.meter import CostMeter
from leakguard.live.policy import LAST, Depth
from leakguard.live.purse import Prices, Purse
from leakguard.model import Census, TypeCount
from leakguard.testing import FakeClock

MANY = {"app.Ticket": TypeCount(100, 6_400), "list": TypeCount(1_000, 100_000)}


def looker(journal: Any = None, **known: Any) -> Looker:
    """Return a looker that knows this, in a run without a limit."""
    return looker_in(Purse(None, mock.Mock(), mock.Mock()), journal, **known)


def looker_in(purse: Purse, journal: Any = None, left: Any = lambda: None, **known: Any) -> Looker:
    inquiry = dataclasses.replace(Inquiry(), **known)
    return Looker(mock.Mock(), purse, mock.Mock(), inquiry, None, left, journal)


def asks(looking: Looker, why: str, after: Mapping[str, TypeCount] = MANY, index: int = 59) -> bool:
    """Return whether a look that counted ``after`` asks who holds what."""
    look = Look(Observation({}, {}, {}, census=Census(after)), Depth.CENSUS, why=why)
    return looking._asks_for_holders(look, index, grew=False)


def after_first(types: Mapping[str, TypeCount], held: int = 0) -> Any:
    """Return a journal whose first census counted ``types``, and that holds so many bytes."""
    return mock.Mock(first_census=Census(types), held_bytes=held)


def test_last_look_asks_who_holds_what_where_nothing_is_known_of_the_beginning():
    assert asks(looker(), LAST)


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, False),
        ({"app.Ticket": TypeCount(102, 6_528)}, True),
        ({"app.Ticket": TypeCount(101, 6_464)}, False),
        ({"app.Late": TypeCount(2, 128)}, True),
        ({"list": TypeCount(1_400, 124_000)}, True),
        ({"list": TypeCount(1_050, 103_000)}, False),
        ({"weakref.ReferenceType": TypeCount(50, 4_000)}, False),
    ],
)
@pytest.mark.parametrize("stays", [False, True])
def test_last_look_asks_who_holds_what_if_objects_were_gained_in_all(more, asked, stays):
    purse = Purse(None, mock.Mock(), mock.Mock())
    looking = looker_in(purse, after_first(MANY), lambda: 1.0 if stays else None)
    assert asks(looking, LAST, {**MANY, **more}) is asked
    assert asks(looking, "spread", {**MANY, **more}) is (asked and stays)


@pytest.mark.parametrize(
    ("more", "owing", "depth"),
    [
        ({}, False, Depth.CENSUS),
        ({}, True, Depth.HOLDERS),
        ({"app.Ticket": TypeCount(102, 6_528)}, False, Depth.HOLDERS),
    ],
)
def test_run_that_gained_nothing_ends_with_a_census_and_no_walk(more, owing, depth):
    looking = looker_in(loop_of_seconds(3.0, 0.3), after_first(MANY), owing=owing)
    looking.recorder.observe.return_value = Observation({}, {}, {}, census=Census(MANY | more))
    looking.recorder.inspect.return_value = mock.Mock(garbage=0, garbage_bytes=0)

    assert looking.end(mock.Mock(), 60).depth is depth
    assert looking.recorder.inspect.called is (depth is Depth.HOLDERS)


@pytest.mark.parametrize(
    ("left", "more", "asked"),
    [
        (None, {"app.Ticket": TypeCount(110, 7_040)}, True),
        (0.0, {"app.Ticket": TypeCount(110, 7_040)}, False),
        (0.0, {"list": TypeCount(1_400, 900_000)}, False),
        (40_000.0, {"app.Ticket": TypeCount(110, 7_040)}, True),
        (0.0, {"app.Ticket": TypeCount(130, 8_320)}, True),
        (0.0, {"list": TypeCount(1_400, 1_300_000)}, True),
    ],
)
def test_dear_search_at_the_end_needs_evidence_that_something_stays(left, more, asked):
    dear, cheap = loop_of_seconds(3.0, 2.5), loop_of_seconds(3.0, 0.02)
    for purse, is_asked in ((dear, asked), (cheap, True)):
        looking = looker_in(purse, after_first(MANY), lambda: left)
        assert asks(looking, LAST, MANY | more) is is_asked


@pytest.mark.parametrize(("index", "asked"), [(59, False), (5, True)])
def test_dear_search_after_a_first_look_depends_on_how_much_births_can_show(index, asked):
    looking = looker_in(loop_of_seconds(3.0, 2.5), None, lambda: 0.0)
    assert asks(looking, LAST, MANY, index) is asked


def test_what_the_guard_itself_keeps_is_no_gain_of_the_program():
    more = {**MANY, "bytearray": TypeCount(1, 60_000)}
    assert asks(looker(journal=after_first(MANY)), LAST, more)
    assert not asks(looker(journal=after_first(MANY, held=60_000)), LAST, more)


def loop_of_seconds(seconds: float, walk: float) -> Purse:
    """Return the purse of a long loop that took so long, where a walk has the price given."""
    clock, prices = FakeClock(), Prices("python", 100_000)
    purse = Purse(0.01, CostMeter(clock), prices)
    clock.advance(seconds)
    prices.paid(Depth.HOLDERS, walk)
    return purse


def test_count_that_grew_is_asked_for_at_the_end_whatever_it_costs():
    assert asks(looker_in(loop_of_seconds(3.0, 2.5), grows=True), LAST)
