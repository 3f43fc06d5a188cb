"""What the program gained, and has let go of when its function returns, without the guard's own."""

from __future__ import annotations

from leakguard.live.heights import Heights

KB = 1_000


def heights(gains, looks=0, left=0):
    """Follow memory in use over ``gains``; each of the first ``looks`` ends leaves ``left``."""
    told, used = Heights(), 20_000 * KB
    for number, gain in enumerate(gains):
        looked = 0 < number <= looks
        used += gain + (left if looked else 0)
        told.note({"heap_in_use": used}, looked=looked)
    return told, used


def test_program_that_gives_back_what_it_gained_has_let_go():
    told, used = heights([10 * KB] * 40)
    assert told.has_let_go({"heap_in_use": used - 390 * KB})


def test_what_looks_left_is_no_gain():
    told, used = heights([10 * KB] * 40, looks=12, left=60 * KB)
    assert told.has_let_go({"heap_in_use": used - 390 * KB})


def test_in_a_short_run_each_generation_of_which_is_looked_at_all_of_it_counts():
    told, used = heights([50 * KB] * 8, looks=8, left=10 * KB)
    assert told.has_let_go({"heap_in_use": used - 300 * KB})
    assert not told.has_let_go({"heap_in_use": used - 100 * KB})


def test_fall_as_deep_as_one_between_two_generations_is_the_programs_own():
    told, used = heights([10 * KB] * 20 + [-150 * KB] + [10 * KB] * 20)
    assert not told.has_let_go({"heap_in_use": used - 140 * KB})


def test_program_that_keeps_most_of_it_has_not_let_go():
    told, used = heights([10 * KB] * 40, looks=12, left=60 * KB)
    assert not told.has_let_go({"heap_in_use": used - 100 * KB})


def test_what_the_guard_and_its_record_take_is_no_rise():
    def risen(**own):
        told = Heights()
        for number in range(20):
            had = {name: each * number for name, each in own.items()}
            numbers = {"heap_in_use": 9_000_000 + 60_000 * number, "rss_anonymous": 10**7}
            numbers["rss_anonymous"] += 900_000 * number
            told.note({**numbers, **had})
        return told.quiet < 3

    assert risen()
    assert risen(own_memory=60_000)
    assert risen(own_births=900_000)
    assert not risen(own_memory=60_000, own_births=900_000)
