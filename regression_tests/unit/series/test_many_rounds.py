"""Long series with noise of 1 a round: each kind ten times, from fixed seeds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from leakguard.analysis.series import SeriesVerdict, judge_series

N = 110
Shape = Callable[[int], float]


def noisy(shape: Shape, seed: int, n: int = N) -> list[float]:
    noise = random.Random(seed)
    return [shape(t) + noise.gauss(0.0, 1.0) for t in range(n)]


def judged(shape: Shape, n: int = N) -> list[SeriesVerdict]:
    return [judge_series(noisy(shape, seed, n)) for seed in range(10)]


def walks(coefficient: float) -> list[list[float]]:
    several = []
    for seed in range(20):
        noise, value, values = random.Random(seed), 0.0, []
        for _ in range(N):
            value = coefficient * value + noise.gauss(0.0, 1.0)
            values.append(value)
        several.append(values)
    return several


def full_at(share: float) -> Shape:
    return lambda t: 20.0 * min(1.0, t / (share * N))


HEALTHY: dict[str, Shape] = {
    "white noise": lambda t: 0.0,
    "warm-up": lambda t: 20.0 * (1.0 - math.exp(-t / 15.0)),
    "slow warm-up": lambda t: 20.0 * (1.0 - math.exp(-t / 40.0)),
    "high warm-up": lambda t: 300.0 * (1.0 - math.exp(-t / 17.0)),
    "slow saturation": lambda t: 30.0 * (1.0 - math.exp(-t / 80.0)),
    "one step": lambda t: 10.0 * (t > 60),
    "late step": lambda t: 10.0 * (t > 100),
    "three steps": lambda t: 5.0 * ((t > 20) + (t > 47) + (t > 83)),
    "five high steps": lambda t: 80.0 * sum(t > at for at in (11, 30, 58, 71, 99)),
    "buffer that is full": full_at(0.6),
    "buffer that starts late": lambda t: 20.0 * min(1.0, max(0.0, (t - 30) / 50)),
    "sawtooth": lambda t: 10.0 * (t % 12) / 12.0,
    "sawtooth of long teeth": lambda t: 10.0 * (t % 45) / 45.0,
    "high sawtooth": lambda t: 100.0 * (t % 12) / 12.0,
    "bursts": lambda t: 10.0 * (t in (5, 6, 7, 40, 41, 77, 78, 79, 80, 104)),
}
LEAKS: dict[str, Shape] = {
    "linear": lambda t: 0.2 * t,
    "warm-up, then growth": lambda t: 20.0 * (1.0 - math.exp(-t / 15.0)) + 0.2 * t,
    "starts mid-run": lambda t: 0.3 * max(0, t - 55),
    "under a sawtooth": lambda t: 10.0 * (t % 12) / 12.0 + 0.2 * t,
    "under a high sawtooth": lambda t: 100.0 * (t % 12) / 12.0 + 0.5 * t,
    "a step every tenth round": lambda t: 3.0 * (t // 10),
    "accelerating": lambda t: 0.3 * t * t / N,
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_series_is_never_called_a_leak(name: str):
    assert [v.reason for v in judged(HEALTHY[name]) if v.growing == "yes"] == []


@pytest.mark.parametrize("name", LEAKS)
def test_leak_is_found_in_a_long_noisy_series(name: str):
    missed = [v.reason for v in judged(LEAKS[name]) if v.growing != "yes"]
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("coefficient", [0.5, 0.9, 1.0])
def test_noise_that_wanders_is_not_a_leak(coefficient: float):
    assert all(judge_series(values).growing != "yes" for values in walks(coefficient))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("warm-up", "warm-up"),
        ("one step", "step"),
        ("buffer that is full", "filling"),
        ("buffer that starts late", "filling"),
        ("high sawtooth", "sawtooth"),
        ("white noise", "noise"),
    ],
)
def test_healthy_series_is_named_for_what_it_is(name: str, shape: str):
    assert [v.shape for v in judged(HEALTHY[name])].count(shape) >= 9


def test_rate_of_a_leak_lies_in_its_interval():
    for verdict in judged(LEAKS["linear"]):
        low, high = verdict.interval
        assert low < verdict.rate < high
        assert verdict.rate == pytest.approx(0.2, abs=0.02)


def test_intervals_hold_the_true_rate_nearly_always():
    verdicts = [judge_series(noisy(LEAKS["linear"], seed)) for seed in range(40)]
    assert sum(v.interval[0] <= 0.2 <= v.interval[1] for v in verdicts) >= 35


def test_leak_that_starts_mid_run_says_when():
    for verdict in judged(lambda t: 2.0 * max(0, t - 55)):
        assert verdict.started is not None
        assert abs(verdict.started - 56) <= 2
        assert verdict.rate == pytest.approx(2.0, rel=0.1)


def test_rate_after_a_warm_up_is_that_of_the_leak():
    for verdict in judged(LEAKS["warm-up, then growth"]):
        assert verdict.rate == pytest.approx(0.2, abs=0.06)


def test_rate_under_a_sawtooth_is_that_of_the_floors():
    for verdict in judged(LEAKS["under a high sawtooth"]):
        assert verdict.rate == pytest.approx(0.5, abs=0.05)


def test_full_buffer_names_its_plateau_and_round():
    for verdict in judged(HEALTHY["buffer that is full"]):
        assert verdict.plateau is not None
        assert verdict.plateau.value == pytest.approx(20.0, abs=1.0)
        assert verdict.plateau.round == pytest.approx(66, abs=12)


def test_warm_up_names_the_level_it_settles_on():
    for verdict in judged(HEALTHY["warm-up"]):
        assert verdict.plateau is not None
        assert verdict.plateau.value == pytest.approx(20.0, abs=1.0)


def test_cleared_noise_says_what_it_could_not_have_seen():
    for verdict in judged(HEALTHY["white noise"]):
        assert 0.0 < verdict.detectable < 0.2


def test_thousand_rounds_are_judged_in_blocks():
    leak = judge_series(noisy(lambda t: 0.02 * t, 1, 1000))
    calm = judge_series(noisy(lambda t: 20.0 * (1.0 - math.exp(-t / 100.0)), 1, 1000))
    assert (leak.growing, calm.growing) == ("yes", "no")
    assert leak.rate == pytest.approx(0.02, rel=0.05)


def test_count_that_grows_by_one_every_tenth_round_is_a_leak():
    verdict = judge_series([t // 10 for t in range(100)], integer=True)
    assert (verdict.growing, verdict.started) == ("yes", 10)
    assert verdict.rate == pytest.approx(0.1, abs=0.01)


def test_count_that_grows_every_round_is_a_leak_without_noise():
    assert judge_series(list(range(100)), integer=True).growing == "yes"


def test_deque_that_filled_in_the_middle_of_a_long_run_is_not_a_leak():
    verdict = judge_series([min(1000, 20 * t) for t in range(100)], integer=True)
    assert (verdict.shape, verdict.growing) == ("filling", "no")


def test_curves_without_noise_are_told_apart():
    line = judge_series([0.5 * t for t in range(60)])
    curve = judge_series([50.0 * (1.0 - math.exp(-t / 9.0)) for t in range(60)])
    assert (line.growing, curve.growing) == ("yes", "no")


def test_one_restart_in_the_middle_is_not_a_leak():
    for verdict in judged(lambda t: 20.0 * (t % 8), 16):
        assert verdict.growing != "yes"


def test_leak_behind_a_large_set_up_is_found():
    verdicts = judged(lambda t: 320.0 * (t > 0) + 100.0 * (t > 1) + 8.0 * t, 16)
    assert [verdict.growing for verdict in verdicts].count("yes") >= 9
    for verdict in verdicts:
        assert verdict.rate == pytest.approx(8.0, rel=0.1)


def test_calm_rounds_behind_a_large_set_up_are_a_step():
    for verdict in judged(lambda t: 320.0 * (t > 0), 20):
        assert (verdict.shape, verdict.growing) == ("step", "no")


def test_growth_that_slows_without_end_is_not_cleared():
    verdict = judge_series([100.0 * math.log(t + 1.0) for t in range(40)])
    assert verdict.growing != "no"


def test_leak_of_objects_that_starts_late_in_a_long_run_says_when():
    verdict = judge_series([2] * 20 + [18, 34, 50, 66, 82], integer=True)
    assert (verdict.growing, verdict.started, verdict.rate) == ("yes", 20, 16.0)


@pytest.mark.parametrize("rounds", [350, 2000])
@pytest.mark.parametrize("share", [0.0, 0.33, 0.5])
def test_growth_in_a_long_run_is_dated_by_its_looks_and_not_by_blocks_of_them(rounds, share):
    rng, start = random.Random(rounds), 1 + int(share * rounds)
    at = range(1, rounds + 1)
    values = [max(0, n - start + 1) + rng.gauss(0.0, 1.5) for n in at]
    verdict = judge_series(values, at=list(at))
    assert verdict.growing == "yes"
    assert abs(verdict.started - start) <= 4  # the noise of a value is that of two generations
