"""Looks that lie any number of generations apart, one promise each."""

from __future__ import annotations

import pytest

from leakguard.analysis.series import judge_series

LOOKS = [1, 2, 3, 4, 6, 9, 13, 20, 31, 47, 60]


def test_rate_and_start_are_in_generations():
    verdict = judge_series([10.0 * g for g in LOOKS], at=LOOKS)
    assert (verdict.growing, verdict.started) == ("yes", 2)
    assert verdict.rate == pytest.approx(10.0)


def test_count_that_rose_early_and_never_later_has_stopped():
    counts = [0, 0, 1, 2, 4, 6, 6, 6, 6, 6, 6]
    verdict = judge_series(counts, at=LOOKS, integer=True)
    assert verdict.growing == "no"
    assert verdict.plateau is not None
    assert verdict.plateau.round == 9


def test_memory_that_doubled_and_is_flat_for_twenty_generations_is_no_leak():
    sizes = [100.0 + 2.5 * min(t, 40) for t in range(60)]
    verdict = judge_series(sizes)
    assert verdict.growing == "no"
    assert verdict.plateau is not None
    assert verdict.plateau.round == pytest.approx(40, abs=2)


def test_list_that_is_flushed_between_looks_is_no_leak():
    verdict = judge_series([3 * (g % 15) for g in LOOKS], at=LOOKS, integer=True)
    assert verdict.growing != "yes"


def test_two_values_of_one_generation_are_refused():
    with pytest.raises(ValueError, match="generations"):
        judge_series([1.0, 2.0, 3.0], at=[1, 1, 2])


def test_each_value_needs_a_generation():
    with pytest.raises(ValueError, match="generations"):
        judge_series([1.0, 2.0, 3.0], at=[1, 2])


def test_growth_between_looks_far_apart_is_no_set_up():
    looks = [2, 42, 53, 54, 55, 56, 58, 60, 90]
    verdict = judge_series([45 * t for t in looks], at=looks, integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 3)


def test_exact_count_began_to_grow_as_far_back_as_its_gain_takes():
    looks = [10, 100, 283, 402, 500, 600, 700]
    verdict = judge_series([max(0, 40 * (t - 399)) for t in looks], at=looks, integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 400)


def test_count_that_stopped_between_two_clusters_of_looks_is_not_a_leak():
    looks = (1, 2, 3, 4, 151, 152, 153, 154, 155, 300)
    counts = [61.0 * min(look // 3, 60) for look in looks]
    assert judge_series(counts, at=looks, integer=True).growing != "yes"
