"""Which generations a run is looked at in, told as whole runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from leakguard.capture.recorder import Observation
from leakguard.live.inquiry import Inquiry
from leakguard.live.meter import CostMeter
from leakguard.live.policy import LAST, Dates, Depth, LoopSoFar, asks_for_holders, reason_to_look
from leakguard.live.purse import (
    FIXED_SECONDS,
    RISING_SECONDS,
    RISING_SHARE,
    Prices,
    Purse,
)
from leakguard.model import Census
from leakguard.model.snapshot import Watched
from leakguard.testing import FakeClock

MB = 1_000_000
FLAT: Callable[[int], float] = lambda generation: 100 * MB  # noqa: E731


@dataclass
class Story:
    """Plays a run of ``count`` generations of ``seconds`` each; looks have fixed prices."""

    count: int
    seconds: float
    memory: Callable[[int], float] = FLAT
    grows: Callable[[int], bool] = lambda generation: False
    census: float = 0.006
    holders: float = 0.027
    share: float | None = 0.01
    sized: bool = True
    queued: float = 0.0
    faults: float = 0.0
    looks: list[int] = field(default_factory=list)
    deep: list[int] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    spent: float = 0.0

    def __post_init__(self) -> None:
        clock, waited, afterwards = FakeClock(), FakeClock(), FakeClock()
        meter = CostMeter(clock, queued=waited)
        purse = Purse(self.share, meter, Prices("compiled", 65_000), afterwards)
        inquiry, loop = Inquiry(), LoopSoFar(self.count if self.sized else None)

        def look(depth: Depth, cost: float) -> None:
            meter.charged(take, depth, cost)

        def take(depth: Depth, cost: float) -> None:
            with purse.charged(depth):
                clock.advance(cost)

        seen = 0
        for index in range(self.count):
            clock.advance(self.seconds + self.queued)
            waited.advance(self.queued)
            loop.index = index
            purse.settle(65_000)
            inquiry.note_numbers(
                index, {"heap_in_use": self.memory(index), "python_blocks": 65_000}
            )
            why = reason_to_look(inquiry, purse, loop, last=index == self.count - 1)
            if why is None:
                continue
            self.reasons[index] = why
            look(Depth.CENSUS, self.census)
            # A look sees growth where there was some since the look before.
            grew, grows = inquiry.grows, any(map(self.grows, range(seen + 1, index + 1)))
            seen = index
            inquiry.note(_seen(grows), 0, index)
            if asks_for_holders(inquiry, purse, loop, why, grew=grew, gained=grows):
                look(Depth.HOLDERS, self.holders)
                self.deep.append(index)
            inquiry.looked(index)
            afterwards.advance(self.faults)
            self.looks.append(index)
        self.spent = meter.spent


def _seen(grows: bool) -> Observation:
    """Return what a look saw: too many of a watched class, where something grows."""
    watched = {"app.Ticket": Watched(2, expected=(0, 1))} if grows else {}
    return Observation({}, {}, {}, census=Census({}), watched=watched)


def test_dates_lie_ever_further_apart_and_begin_anew_with_news():
    dates, met = Dates(), []
    for index in range(70):
        if index == 50:
            dates.begin(index)
        if index >= dates.next:
            dates.met(index)
            met.append(index + 1)
    assert met == [2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 51, 52, 53, 54, 56, 58, 61, 66]


def test_a_person_waits_for_two_seconds_of_looks_or_a_twentieth_of_the_run():
    clock = FakeClock()
    meter = CostMeter(clock)
    purse = Purse(0.01, meter, Prices("compiled", 65_000))
    taken = 0
    while purse.owes(Depth.HOLDERS):
        with purse.charged(Depth.HOLDERS):
            meter.charged(clock.advance, 0.4)
        taken += 1
    assert taken == 5
    clock.advance(1000.0)
    assert purse.owes(Depth.HOLDERS)


def widest_gap(looks: list[int]) -> int:
    return max(b - a for a, b in itertools.pairwise(looks))


def test_sixty_generations_of_50_ms_are_looked_at_from_the_first_to_the_last():
    story = Story(60, 0.05)
    assert story.looks == [1, 2, 3, 5, 7, 10, 15, 22, 30, 43, 59]
    assert story.spent <= 0.03 * 60 * 0.05


def test_flat_run_costs_no_more_than_what_is_stated():
    for count, seconds in ((60, 0.05), (600, 0.005), (2_000, 0.005), (20, 0.01)):
        story = Story(count, seconds)
        assert story.spent <= FIXED_SECONDS + 0.006 * count * seconds + 0.006


def test_600_generations_of_5_ms_are_looked_at_in_all_their_length():
    story = Story(600, 0.005)
    assert 17 <= len(story.looks) <= 30
    assert sum(look >= 300 for look in story.looks) >= 3
    assert story.looks[-1] == 599


def test_2000_generations_of_5_ms_are_looked_at_in_all_their_length():
    story = Story(2_000, 0.005)
    assert sum(look >= 1_000 for look in story.looks) >= 3
    assert widest_gap(story.looks) <= 700


def test_generations_of_minutes_are_looked_at_no_more_often_than_short_ones():
    """The share would pay for a look at each of them; births see what comes in between."""
    story = Story(25, 600.0, census=0.5, holders=3.0)
    assert story.looks == Story(25, 1.0).looks == [1, 2, 3, 5, 7, 10, 12, 17, 24]


def test_page_faults_after_looks_are_paid_from_what_looks_may_cost():
    dear = Story(25, 10.0, census=0.2)
    assert Story(25, 10.0, census=0.05, faults=0.15).looks == dear.looks
    assert len(dear.looks) < len(Story(25, 10.0, census=0.05).looks)


def test_long_run_stays_under_its_share():
    story = Story(5_000, 1.0, census=0.2, holders=1.0)
    assert story.spent <= 0.001 * 5_000
    assert len(story.looks) >= 12
    assert all(later <= 2 * sooner for sooner, later in itertools.pairwise(story.looks[1:]))


def test_rise_that_begins_late_is_looked_at_at_once_and_then_often_enough_to_be_named():
    def memory(generation: int) -> float:
        return 100 * MB + max(0, generation - 400) * 0.1 * MB

    story = Story(600, 0.05, memory, grows=lambda generation: generation > 400)
    after = [look for look in story.looks if look > 400]
    assert after[0] <= 402
    assert len([look for look in after if look <= 410]) >= 4
    assert len([look for look in story.deep if look > 400]) >= 3
    assert "rise" in story.reasons.values()


def test_rise_is_named_though_the_run_is_fast_and_what_is_fixed_is_used_up():
    def memory(generation: int) -> float:
        return 100 * MB + max(0, generation - 1_500) * 0.1 * MB

    story = Story(2_000, 0.005, memory, grows=lambda generation: generation > 1_500)
    assert len([look for look in story.looks if 1_500 < look <= 1_520]) >= 4
    assert len([look for look in story.deep if look > 1_500]) >= 3


def test_periodic_program_is_not_always_met_at_the_same_point_of_its_period():
    for period in (10, 15, 20):
        story = Story(600, 0.05, lambda generation, period=period: (100 + generation % period) * MB)
        met = {look % period for look in story.looks}
        assert len(met) >= period / 3


def test_tooth_that_returns_is_no_rise():
    story = Story(600, 0.005, lambda generation: (100 + generation % 15) * MB)
    assert story.spent <= FIXED_SECONDS + (0.006 + RISING_SHARE) * 600 * 0.005


def test_million_objects_in_a_short_run_are_looked_at_at_both_ends_and_in_the_middle():
    story = Story(60, 0.05, census=0.07, holders=0.44)
    assert story.looks[0] <= 1
    assert story.looks[-1] == 59
    assert any(20 <= look <= 40 for look in story.looks)
    assert story.spent <= 4 * 0.07 + 0.001


def test_million_objects_that_grow_in_a_short_run_are_named_at_the_end():
    story = Story(
        60,
        0.05,
        lambda generation: (100 + generation) * MB,
        lambda generation: True,
        census=0.07,
        holders=0.44,
    )
    assert story.deep[-1] == 59
    limit = FIXED_SECONDS + RISING_SECONDS + 0.44
    assert story.spent <= limit


def test_pure_walks_obey_the_budget_too():
    story = Story(60, 0.05, census=0.038, holders=0.37)
    assert story.spent <= FIXED_SECONDS + 0.038
    assert story.looks[-1] == 59


def test_short_loop_is_looked_at_as_often_as_a_longer_one_at_its_beginning():
    assert Story(12, 0.01).looks == [1, 2, 3, 5, 6, 9, 11]
    growing = Story(8, 0.01, grows=lambda generation: True, census=0.01, holders=0.03)
    assert growing.looks == [1, 2, 3, 4, 6, 7]
    assert growing.deep[-1] == 7
    assert len(growing.deep) >= 4


@pytest.mark.parametrize(("census", "holders"), [(0.3, 2.2), (0.2, 1.0), (0.07, 0.44)])
def test_short_loop_with_a_large_heap_has_the_looks_that_are_taken_in_any_case(census, holders):
    calm = Story(12, 0.1, census=census, holders=holders)
    growing = Story(12, 0.1, grows=lambda n: True, census=census, holders=holders)
    assert {1, 6, 11} <= set(calm.looks)
    assert growing.looks[-1] == growing.deep[-1] == 11
    assert calm.spent <= max(FIXED_SECONDS, census) + 2 * census
    # The first price is a guess.
    assert growing.spent <= FIXED_SECONDS + 3 * census + 2 * holders


def test_short_training_of_unknown_length_is_looked_at_up_to_its_end():
    story = Story(6, 0.5, grows=lambda generation: True, census=0.03, holders=0.1, sized=False)
    assert story.looks == [1, 2, 3, 5]
    assert len(story.deep) >= 2
    assert story.deep[-1] == 5


def test_quick_loop_of_unknown_length_is_not_taken_for_a_short_one():
    story = Story(60, 0.05, census=0.07, sized=False)
    assert story.spent <= 0.15 * 60 * 0.05


def test_last_generation_is_looked_at_whatever_was_spent():
    for count in (1, 2, 5, 60, 600):
        story = Story(count, 0.001, census=5.0)
        assert story.looks[-1] == count - 1
        assert story.reasons[count - 1] == LAST


def test_no_limit_looks_every_time():
    story = Story(100, 0.001, census=10.0, share=None)
    assert story.looks == list(range(100))


def test_cost_of_a_look_that_fails_is_counted():
    clock = FakeClock()
    meter = CostMeter(clock)
    purse = Purse(0.01, meter, Prices("compiled", 65_000))

    def look() -> None:
        with purse.charged(Depth.CENSUS):
            clock.advance(1.0)
            raise OSError

    with pytest.raises(OSError):
        meter.charged(look)
    assert meter.spent == 1.0
    assert not purse.allows(Depth.CENSUS, Inquiry(), 1)


def test_work_within_work_is_charged_once():
    clock = FakeClock()
    meter = CostMeter(clock)

    def work() -> None:
        clock.advance(1.0)
        meter.charged(clock.advance, 2.0)
        assert meter.spent == 3.0

    meter.charged(work)
    clock.advance(4.0)
    assert (meter.spent, meter.program) == (3.0, 4.0)


def test_looks_cost_no_more_on_a_machine_with_much_else_to_do():
    told = {"count": 40, "seconds": 0.02, "census": 0.1, "sized": False}
    assert Story(**told, queued=0.5).looks == Story(**told).looks


def test_loop_of_known_length_is_looked_at_in_its_middle_whatever_a_look_costs():
    story = Story(800, 0.001, census=0.2, holders=1.0)
    assert {1, 400, 799} <= set(story.looks)
