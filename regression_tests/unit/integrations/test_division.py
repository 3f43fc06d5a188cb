"""A round that lasts long is divided by itself, into parts that last long enough."""

from __future__ import annotations

import itertools

import pytest

from leakguard.integrations.division import LONG_SECONDS, PART_SECONDS, PARTS_OF_A_SIZE, Division
from leakguard.testing import FakeClock


def played(division, clock, steps, seconds, left=None):
    """Return the steps before which a generation began, in one round of so many steps."""
    division.begin(left)
    begun = []
    for step in range(steps):
        if division.step():
            division.begin(None if left is None else left - step)
            begun.append(step)
        clock.advance(seconds)
    return begun


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def division(clock):
    return Division(clock, clock)


def test_short_rounds_are_whole(division, clock):
    for _ in range(50):
        assert played(division, clock, 100, LONG_SECONDS / 200) == []
    assert division.unit is None


def test_round_that_lasts_long_is_divided_and_later_ones_are_from_their_start(division, clock):
    begun = played(division, clock, 1_000, 0.01)
    assert begun[0] == LONG_SECONDS / 0.01
    each = PART_SECONDS / 0.01
    assert {b - a for a, b in itertools.pairwise(begun)} == {each}
    assert played(division, clock, 100, 0.01)[0] == each


def test_parts_of_a_round_of_known_length_are_equal(division, clock):
    played(division, clock, 1_000, 0.01)
    begun = played(division, clock, 100, 0.01, left=100)
    assert begun == [50]  # 40 steps would leave a part of 20


def test_slow_steps_are_a_part_each(division, clock):
    begun = played(division, clock, 10, 60.0)
    assert begun == list(range(1, 10))


def test_many_parts_become_larger_and_count_as_several(division, clock):
    played(division, clock, 50 * PARTS_OF_A_SIZE, 0.01)
    assert division.taken > 1


def test_parts_that_were_measured_at_slow_steps_become_larger(division, clock):
    division.begin()
    division.step()
    clock.advance(60.0)  # the first step compiles
    sizes = played(division, clock, 2_000, 0.001)
    assert len(sizes) < 100
