"""The governor spends no more than it may, and never starves a short run."""

from __future__ import annotations

from leakguard.live.governor import Governor
from leakguard.testing import FakeClock


def look(governor: Governor, clock: FakeClock, cost: float) -> None:
    with governor.at_work():
        clock.advance(cost)
    governor.looked(cost)


def test_short_run_is_looked_at_in_every_generation():
    clock = FakeClock()
    governor = Governor(0.01, clock)
    for _ in range(8):
        assert governor.due()
        look(governor, clock, 0.5)
        clock.advance(0.1)


def test_long_run_stays_under_its_share():
    clock = FakeClock()
    governor = Governor(0.01, clock)
    looks = 0
    for _ in range(5000):
        if governor.due():
            looks += 1
            look(governor, clock, 0.2)
        clock.advance(1.0)
    program = clock.seconds - governor.spent
    assert 0.005 * program < governor.spent <= 0.006 * program
    assert looks > 8


def test_look_that_turns_out_dear_was_reckoned_with():
    clock = FakeClock()
    governor = Governor(0.01, clock)
    governor.priced(5.0)
    dear = 1.0
    for _ in range(20_000):
        if governor.due():
            dear = -dear
            look(governor, clock, 5.0 if dear > 0 else 0.2)
        clock.advance(1.0)
        assert clock.seconds < 10_000 or governor.spent <= 0.006 * (clock.seconds - governor.spent)


def test_price_that_is_not_paid_serves_the_next_looks():
    clock = FakeClock()
    governor = Governor(0.01, clock)
    governor.priced(5.0)
    for _ in range(20_000):
        if governor.due():
            look(governor, clock, 0.2)
        clock.advance(1.0)
    assert governor.spent > 0.0055 * clock.seconds


def test_no_limit_looks_every_time():
    clock = FakeClock()
    governor = Governor(None, clock)
    for _ in range(100):
        assert governor.due()
        look(governor, clock, 10.0)


def test_work_within_work_is_charged_once():
    clock = FakeClock()
    governor = Governor(0.01, clock)
    with governor.at_work():
        clock.advance(1.0)
        with governor.at_work():
            clock.advance(2.0)
        assert governor.spent == 3.0
    clock.advance(4.0)
    assert governor.spent == 3.0
