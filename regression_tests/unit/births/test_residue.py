"""What each round leaves behind: leaks do, full caches, windows and set-up do not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from leakguard.model.births import Birthplace, Cohort
from leakguard.model.residue import residue


def place(bytes_of_rounds, *, samples=2, error=0.0, phase="train"):
    """Return a place whose rounds left these bytes, those without any left out."""
    cohorts = tuple(
        Cohort(round_, 1, size, error, samples)
        for round_, size in enumerate(bytes_of_rounds)
        if size
    )
    whole = sum(cohort.bytes for cohort in cohorts)
    return Birthplace(phase, False, whole, error, 1.0, len(cohorts), "train.py:3", cohorts=cohorts)


def test_a_leak_leaves_as_much_of_each_round():
    found = residue([place([1000] * 16)], 16)

    assert found is not None
    assert (found.rate, found.since, found.earlier, found.steady) == (1000, 0, 0, True)


def test_a_leak_of_eight_rounds_is_steady():
    assert residue([place([1000] * 8, samples=1)], 8).steady


def test_one_sample_that_stands_for_many_rounds_is_no_later_beginning():
    # More and more is allocated, so that of the leak less and less is sampled.
    sizes = [1000] * 20 + [0] * 14 + [20_000] + [0] * 5

    found = residue([place(sizes, samples=1)], 40)

    assert found.since == 0
    assert found.rate == 40_000 / 35


@pytest.mark.parametrize(("late", "steady"), [([22], False), ([22, 26], True)])
def test_last_third_that_rests_on_one_sample_is_not_steady(late, steady):
    """A pool is full, its entries take turns, and by then one block in ten is sampled."""
    young = [Cohort(round_, 1, 10_000.0, 9_900.0, 1) for round_ in (14, *late)]
    old = [Cohort(round_, 1, 1000.0, 0.0, 1) for round_ in range(12)]
    pool = replace(place([1000] * 12), cohorts=(*old, *young))

    assert residue([pool], 30).steady == steady


@pytest.mark.parametrize("taken", [[1] * 12 + [16, 3, 29], [1] * 15], ids=["even", "uneven"])
def test_rounds_that_stand_for_many_generations_leave_as_much_in_each(taken):
    """Beside busy processes, few generations are measured after the first ones."""
    sizes = [200_000] * 12 + [3_200_000, 600_000, 5_800_000]

    assert residue([place(sizes, samples=1)], 15, taken).steady == (sum(taken) == 60)


def test_full_deque_with_a_few_blocks_that_were_born_early_is_not_steady():
    """Some samples of its entries are heavy, and free lists handed out the old blocks again."""
    sampled = [
        (2, 233, 220, 1), (4, 466, 311, 2), (12, 233, 220, 1), (16, 439, 426, 1),
        (24, 128_642, 105_779, 53), (24, 52_932, 26_440, 4), (26, 236_928, 149_573, 54),
        (26, 52_932, 26_440, 4), (28, 76_325, 37_641, 59), (28, 105_708, 74_729, 2),
        (30, 71_923, 52_983, 61), (30, 52_854, 52_841, 1), (32, 126_403, 74_933, 26),
        (32, 39_699, 22_898, 3), (34, 11_070, 3_023, 13),
    ]  # fmt: skip
    cohorts = tuple(Cohort(at, 2, float(size), error, n) for at, size, error, n in sampled)

    assert not residue([replace(place([1]), cohorts=cohorts)], 36).steady


def test_a_few_uneven_rounds_are_no_steady_residue_of_all():
    """An archive of 48 places, of which some are taken now and then, fills for a long time."""
    uneven = [0, 3, 121, 32, 0, 3, 79, 0, 0, 0, 73, 0, 0, 168, 122, 0, 0, 0]

    assert not residue([place(uneven, samples=15, error=2.0)], 18).steady
    assert residue([place([size and 60 for size in uneven], samples=15, error=2.0)], 18).steady


def test_rounds_that_differ_by_the_chance_of_sampling_are_even():
    once, twice = place([1000, 0, 0, 1000] * 5), place([0, 2000, 0, 0] * 5)
    error = [replace(c, error=c.bytes * 2**-0.5) for p in (once, twice) for c in p.cohorts]

    assert residue([replace(once, cohorts=tuple(error))], 20).steady


def test_a_leak_of_every_second_round_is_steady():
    assert residue([place([1000, 0] * 8)], 16).steady


def test_a_leak_may_begin_later_than_the_loop():
    found = residue([place([0] * 5 + [1000] * 15)], 20)

    assert (found.since, found.steady) == (5, True)


def test_a_cache_that_drops_what_is_old_keeps_no_old_rounds():
    found = residue([place([0] * 52 + [1000] * 8)], 60)

    assert (found.since, found.steady) == (52, False)


def test_a_memo_that_saturates_leaves_less_and_less():
    sizes = [int(10_000 * 0.8**round_) for round_ in range(30)]

    assert not residue([place(sizes)], 30).steady


def test_a_cache_that_has_filled_is_told_by_the_rounds_that_left_nothing():
    sizes = [470, 287, 156, 113, 84, 31, 47, 19, 0, 0]

    assert not residue([place(sizes, error=10)], 10).steady


def test_what_the_last_rounds_are_still_at_work_on_is_no_rise():
    found = residue([place([1000] * 14 + [50_000] * 2)], 16)

    assert (found.steady, found.rate) == (True, 1000)


def test_what_the_first_round_set_up_is_no_part_of_the_rate():
    found = residue([place([50_000] + [1000] * 15)], 16)

    assert (found.steady, found.since, found.rate) == (True, 0, 1000)


def test_rate_of_rounds_that_were_merged_is_that_of_whole_cohorts():
    merged = [Cohort(round_, 4, 4000.0, 0.0, 8) for round_ in range(0, 64, 4)]
    whole = replace(place([1000]), cohorts=tuple(merged))

    assert residue([whole], 66).rate == 1000


def test_few_bytes_that_stay_beside_a_full_window_are_few():
    # Blocks that a library keeps for later belong to what uses them now.
    found = residue([place([0] * 4 + [73, 73, 0, 73, 73, 0] + [82_000] * 2)], 12)

    assert found.rate == 4 * 73 / 6


def test_what_was_made_once_is_no_residue_of_rounds():
    found = residue([place([50_000, *[0] * 30], samples=20)], 31)

    assert found is not None
    assert not found.steady


def test_few_samples_say_nothing():
    assert residue([place([1000, 1000], samples=2)], 60) is None


def test_empty_cohorts_of_a_rare_sample_are_chance():
    chance = random.Random(7)
    sizes = [chance.choice((0, 0, 50_000)) for _ in range(60)]

    assert residue([place(sizes, samples=1, error=50_000)], 60).steady


def test_several_lines_of_one_holder_are_one_residue():
    even, odd = ([1000 * (r % 2 == p) for r in range(16)] for p in (0, 1))

    found = residue([place(even), place(odd)], 16)

    assert (found.rate, found.steady) == (1000, True)


def test_rounds_that_stand_for_more_and_more_generations_leave_more_of_each():
    taken = [1] * 8 + [2] * 8 + [4] * 8
    sizes = [1000 * number for number in taken]

    found = residue([place(sizes)], 24, taken)

    assert (found.rate, found.since, found.steady) == (1000, 0, True)
    assert not residue([place([1000] * 24)], 24, [1] * 8 + [8] * 16).steady


def test_later_half_of_the_rounds_may_be_most_of_the_generations():
    taken = [1] * 14 + [4] * 10
    sizes = [0] * 14 + [4000] * 10

    assert residue([place(sizes)], 24, taken).steady
    assert not residue([place(sizes)], 24).steady
