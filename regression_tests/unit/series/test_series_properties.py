"""What holds for every series: no crash, no dependence on zero point or unit, honest numbers."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakguard.analysis.series import judge_series

finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-1000, 1000).map(float)
few_or_many = st.one_of(st.lists(whole, max_size=12), st.lists(whole, min_size=13, max_size=40))


@given(st.lists(finite, max_size=40), st.booleans(), st.integers(0, 4))
@settings(max_examples=300, deadline=None)
@example([1.7e308, -1.7e308, 1.7e308, 0.0], False, 2)
@example([5e-324, 0.0, 1.5e-323], False, 0)
@example([0.0] * 20 + [5e-324], True, 2)
@example([16.0 * (t % 4) for t in range(20)], True, 2)
@example([16.0 * (t % 3) + t for t in range(40)], False, 2)
@example([50.0, 40.0, *[30.0] * 20], True, 2)
@example([1e300 * t for t in range(30)], False, 2)
@example([1.0] * 30 + [1.0 + 2.0**-52] * 5, False, 2)
@example([1.0, 0.0, -1.7e-296, -1.7e-296, 0.0], True, 0)
def test_any_finite_series_is_judged(values: list[float], integer: bool, warmup: int):
    verdict = judge_series(values, integer=integer, warmup=warmup)
    assert verdict.growing in ("yes", "no", "cannot tell")
    assert 0.0 < verdict.confidence < 1.0
    assert verdict.interval[0] <= verdict.rate <= verdict.interval[1]
    assert verdict.detectable >= 0.0
    assert bool(verdict.reason) == (verdict.growing == "yes")
    assert (verdict.started is not None) == (verdict.growing == "yes")
    assert not any(math.isnan(x) for x in (verdict.rate, verdict.detectable))


@given(few_or_many, st.integers(-10_000, 10_000), st.booleans())
@settings(max_examples=200, deadline=None)
def test_adding_a_constant_changes_no_verdict(values: list[float], constant: int, integer: bool):
    here = judge_series(values, integer=integer)
    there = judge_series([value + constant for value in values], integer=integer)
    assert (here.shape, here.growing, here.started) == (there.shape, there.growing, there.started)
    assert here.rate == pytest.approx(there.rate, rel=1e-6, abs=1e-9)


@given(few_or_many, st.integers(-20, 20))
@settings(max_examples=200, deadline=None)
def test_changing_the_unit_changes_no_verdict(values: list[float], power: int):
    unit = 2.0**power
    here = judge_series(values)
    there = judge_series([value * unit for value in values])
    assert (here.shape, here.growing, here.started) == (there.shape, there.growing, there.started)
    assert here.rate * unit == pytest.approx(there.rate, rel=1e-6, abs=1e-9 * unit)


@given(st.lists(whole, min_size=3, max_size=40))
@settings(max_examples=200, deadline=None)
def test_series_that_never_rises_is_never_growing(values: list[float]):
    assert judge_series(sorted(values, reverse=True)).growing == "no"


@given(st.integers(6, 60), st.integers(1, 1000), st.integers(-100, 100))
@settings(max_examples=100, deadline=None)
def test_count_that_grows_exactly_is_growing(rounds: int, step: int, start: int):
    counts = [start + step * t for t in range(rounds)]
    verdict = judge_series(counts, integer=True)
    assert (verdict.growing, verdict.rate) == ("yes", pytest.approx(step))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_refused(bad: float):
    with pytest.raises(ValueError, match="round 1"):
        judge_series([1.0, bad, 2.0])


@pytest.mark.parametrize("floor", [-1.0, math.nan, math.inf])
def test_noise_floor_that_is_no_size_is_refused(floor: float):
    with pytest.raises(ValueError, match="noise_floor"):
        judge_series([1.0, 2.0, 3.0], noise_floor=floor)


def test_negative_warm_up_is_refused():
    with pytest.raises(ValueError, match="warmup"):
        judge_series([1.0, 2.0, 3.0], warmup=-1)


@given(st.lists(whole, min_size=3, max_size=24), st.booleans())
@settings(max_examples=100, deadline=None)
def test_long_flat_tail_is_never_a_leak(values: list[float], integer: bool):
    flat = [values[-1]] * (3 * len(values))
    assert judge_series([*values, *flat], integer=integer).growing != "yes"


@given(st.integers(8, 40), st.integers(1, 40), st.integers(1, 1000))
@settings(max_examples=100, deadline=None)
def test_growth_that_goes_on_stays_a_leak(rounds: int, more: int, step: int):
    counts = [step * t for t in range(rounds + more)]
    assert judge_series(counts[:rounds], integer=True).growing == "yes"
    assert judge_series(counts, integer=True).growing == "yes"


@given(st.lists(whole, min_size=3, max_size=24), st.integers(1, 50), st.randoms())
@settings(max_examples=100, deadline=None)
def test_order_and_distance_of_even_looks_change_no_verdict(
    values: list[float], distance: int, chance: random.Random
):
    pairs = [(7 + distance * i, value) for i, value in enumerate(values)]
    chance.shuffle(pairs)
    here = judge_series(values)
    there = judge_series([v for _, v in pairs], at=[g for g, _ in pairs])
    assert (here.shape, here.growing) == (there.shape, there.growing)
    assert here.rate == pytest.approx(distance * there.rate, rel=1e-6, abs=1e-9)


@given(st.integers(3, 60), st.integers(16, 1000), st.integers(0, 1000))
@settings(max_examples=100, deadline=None)
def test_no_length_is_a_seam_for_exact_counts(rounds: int, step: int, start: int):
    counts = [start + step * t for t in range(rounds)]
    assert judge_series(counts, integer=True).growing == "yes"
