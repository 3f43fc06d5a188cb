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
