"""Whether anything was gained since the last census."""

import pytest

from leakguard import LeakGuard
from leakguard.capture import heap
from leakguard.capture.probe import Unavailable
from leakguard.live import assembly
from leakguard.live.calm import Calm

NUMBERS = {
    "heap_in_use": 1_000_000,
    "python_in_use": 500_000,
    "rss_anonymous": 9_000_000,
    "threads": 2,
}


class Counted:
    """Counts and gains as the test says; nothing is counted where ``here`` is false."""

    def __init__(self):
        self.here, self.gained = True, (0, 0)

    def count(self):
        return b"counts" if self.here else None

    def gains(self, before, now):
        return self.gained


@pytest.fixture
def counted():
    return Counted()


@pytest.fixture
def calm(counted):
    made = Calm(counted.count, counted.gains)
    assert not made.lasts(NUMBERS, 0, 1)  # before any census nothing is known
    made.census_taken()
    made.settle(NUMBERS, 0)
    return made


def test_calm_lasts_while_nothing_is_gained(calm):
    assert calm.lasts(NUMBERS, 0, 2)
    assert calm.lasts(NUMBERS, 0, 3)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("heap_in_use", 7_000),
        ("python_in_use", 7_000),
        ("rss_anonymous", 1_100_000),
        ("threads", 1),
    ],
)
def test_a_number_that_has_risen_ends_it(calm, name, more):
    assert not calm.lasts({**NUMBERS, name: NUMBERS[name] + more}, 0, 2)


def test_a_slow_rise_adds_up_since_the_census(calm):
    lasting = [
        calm.lasts({**NUMBERS, "heap_in_use": 1_000_000 + 2_100 * index}, 0, index + 1)
        for index in range(1, 8)
    ]

    assert lasting == [True] * 3 + [False] * 4


@pytest.mark.parametrize(("gained", "lasts"), [((1, 64), True), ((2, 0), False), ((0, 65), False)])
def test_objects_end_it_whatever_their_bytes(calm, counted, gained, lasts):
    counted.gained = gained

    assert calm.lasts(NUMBERS, 0, 2) is lasts


def test_memory_of_the_guard_is_no_gain(calm):
    assert calm.lasts({**NUMBERS, "heap_in_use": 1_060_000}, 60_000, 2)


def test_memory_of_the_record_of_births_is_no_gain(calm):
    more = {**NUMBERS, "rss_anonymous": 12_000_000}
    assert not calm.lasts(more, 0, 2)
    assert calm.lasts({**more, "own_births": 3_000_000}, 0, 2)


def test_what_is_unknown_is_not_calm(calm, counted):
    without = {name: value for name, value in NUMBERS.items() if name != "python_in_use"}
    assert not calm.lasts(without, 0, 2)

    counted.here = False
    assert not calm.lasts(NUMBERS, 0, 2)


def reasons(rounds=8):
    """Return why each generation of a loop that keeps nothing had its look."""
    guard = LeakGuard(report=None)
    with guard:
        for _ in guard.generations(rounds):
            pass
    return {s.cost.why for s in guard.run.generation_ends()}


def test_look_is_left_out_only_where_a_census_was_taken(monkeypatch):
    monkeypatch.setattr("leakguard.live.purse.FIXED_SECONDS", 60.0)  # all dates have their looks
    assert "nothing gained" in reasons()

    def refused(*_):
        raise Unavailable("not here")

    monkeypatch.setattr(heap, "census", refused)
    assert "nothing gained" not in reasons()


def test_nothing_is_counted_where_the_heap_is_spared(monkeypatch):
    counted = []
    monkeypatch.setattr(Calm, "lasts", lambda *_: counted.append(1))
    monkeypatch.setattr(assembly, "reason_to_spare_heap", lambda: "a reason")
    reasons()
    assert not counted
