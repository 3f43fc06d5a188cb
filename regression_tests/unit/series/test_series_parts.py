"""The parts that judge_series stands on, against direct computations."""

from __future__ import annotations

import math
import random

import pytest

from leakguard.analysis.series import change_point, noise, saturation, student, theil_sen
from leakguard.analysis.series.changes import curvature
from leakguard.analysis.series.local_level import Basis
from leakguard.analysis.series.sawtooth import even_rises, find_teeth, level_cuts


@pytest.mark.parametrize(
    ("t", "df", "probability"),
    [(6.314, 1, 0.05), (2.920, 2, 0.05), (2.353, 3, 0.05), (2.015, 5, 0.05), (2.764, 10, 0.01)],
)
def test_student_tail_agrees_with_the_printed_tables(t: float, df: int, probability: float):
    assert student.tail(t, df) == pytest.approx(probability, rel=1e-3)
    assert student.quantile(probability, df) == pytest.approx(t, rel=1e-3)


def test_student_tail_is_symmetric():
    assert student.tail(-1.7, 6) == pytest.approx(1.0 - student.tail(1.7, 6))


def test_theil_sen_ignores_one_wild_round():
    values = [2.0 * t for t in range(20)]
    values[7] = 1e6
    assert theil_sen.rate(values)[0] == pytest.approx(2.0)


def test_theil_sen_interval_is_that_of_sen_for_ten_rounds():
    values = [random.Random(3).gauss(0.0, 1.0) + 0.5 * t for t in range(10)]
    slopes = theil_sen.pairwise_slopes(values)
    rate, (low, high) = theil_sen.rate(values)
    # 1.96 sqrt(10 * 9 * 25 / 18) is 21.9: ranks 11 and 34 of 45 slopes.
    assert (rate, low, high) == (slopes[22], slopes[11], slopes[34])


def test_theil_sen_of_many_rounds_works_on_blocks():
    rate, _ = theil_sen.rate([0.25 * t for t in range(1000)])
    assert rate == pytest.approx(0.25)


def test_kendall_score_counts_rising_pairs_less_falling_ones():
    assert theil_sen.kendall_score([1.0, 3.0, 2.0]) == 1
    assert theil_sen.kendall_score([3.0, 3.0, 3.0]) == 0


def test_noise_of_a_trend_is_that_of_its_rounds():
    draw = random.Random(1)
    values = [3.0 * t + draw.gauss(0.0, 2.0) for t in range(400)]
    assert noise.round_noise(values) == pytest.approx(2.0, rel=0.2)


def test_lone_spike_is_set_aside_and_the_tip_of_a_tooth_is_not():
    spiked = [0.0, 1.0, 0.5, 90.0, 0.2, *[0.8, 0.1, 0.9, 0.4] * 4]
    tooth = [0.0, 10.0, 20.0, 30.0, 0.0, 10.0, 20.0, 30.0]
    assert noise.without_spikes(spiked)[3] == pytest.approx(0.35)
    assert noise.without_spikes(tooth) == tooth


@pytest.mark.parametrize("n", [13, 60, 101])
def test_closed_forms_are_the_transforms_of_their_curves(n: int):
    basis = Basis(n)
    curves = [
        (basis.step(7), [float(t >= 7) for t in range(n)]),
        (basis.ramp(0), [float(t) for t in range(n)]),
        (basis.ramp(5), [max(0.0, t - 5.0) for t in range(n)]),
        (basis.saturation(4.0), [1.0 - math.exp(-t / 4.0) for t in range(n)]),
        (basis.saturation(3.0 * n), [1.0 - math.exp(-t / (3.0 * n)) for t in range(n)]),
    ]
    for closed, curve in curves:
        assert closed == pytest.approx(basis.transform(curve)[: len(closed)], abs=1e-9)


def test_transform_keeps_the_energy_beside_the_mean():
    values = [random.Random(2).gauss(5.0, 1.0) for _ in range(50)]
    mean = sum(values) / 50
    energy = sum((value - mean) ** 2 for value in values)
    assert sum(c * c for c in Basis(50).transform(values)) == pytest.approx(energy)


def test_saturation_is_fitted_to_its_own_curve():
    fit = saturation.fit_saturation([3.0 + 40.0 * (1.0 - math.exp(-t / 6.0)) for t in range(40)])
    assert fit.plateau == pytest.approx(43.0, rel=0.01)
    assert fit.reaches(2.0) == pytest.approx(18, abs=2)


def test_saturation_of_a_falling_series_is_never_reached():
    assert saturation.fit_saturation([10.0, 5.0, 3.0, 2.0, 1.5]).reaches(0.1) is None


def test_largest_shift_finds_a_step():
    assert change_point.largest_shift([0.0, 0.1, -0.1, 0.0, 5.0, 5.1, 4.9]) == 4


def test_growth_start_is_the_last_round_before_the_growth():
    values = [2.0 * max(0, t - 13) for t in range(30)]
    assert change_point.growth_start(values, 11, 4) == 13


def test_levels_are_cut_where_they_change():
    draw = random.Random(4)
    values = [8.0 * (t >= 10) - 5.0 * (t >= 25) + draw.gauss(0.0, 1.0) for t in range(40)]
    assert level_cuts(values) == [10, 25]


def test_teeth_are_taken_out_and_growth_stays():
    teeth = find_teeth([10.0 * (t % 6) + 1.5 * t for t in range(48)])
    assert teeth is not None
    assert teeth.falls
    assert teeth.slope == pytest.approx(10.0)
    assert teeth.levelled == pytest.approx([1.5 * t for t in range(48)])


def test_staircase_of_even_steps_becomes_a_line():
    teeth = find_teeth([7.0 * (t // 5) for t in range(50)])
    assert teeth is not None
    assert not teeth.falls
    assert teeth.levelled == pytest.approx([1.4 * t for t in range(50)], abs=1e-6)


def test_series_that_falls_in_steps_has_no_teeth():
    assert find_teeth([50.0, 50.0, 40.0, 40.0, 30.0, 30.0, 20.0, 20.0]) is None


def test_even_rises_are_counted_and_uneven_ones_are_not():
    assert even_rises([80.0 * (t // 5) for t in range(17)]) == 3
    assert even_rises([80.0 * ((t > 2) + (t > 4) + (t > 13)) for t in range(17)]) == 0


def test_parabola_that_bends_down_ends_below_its_first_change():
    first, last, chance = curvature([10.0 * t - 0.4 * t * t for t in range(10)])
    assert (first, last) == pytest.approx((9.6, 3.2))
    assert chance < 0.001
