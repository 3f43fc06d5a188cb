"""Growth in a pattern: allocations every other round, teeth over floors, steps in flat rounds."""

from __future__ import annotations

import random

import pytest

from leakguard.analysis.series import judge_series

SEEDS = range(5)
KB = 1e3


def jitter(noise: random.Random) -> float:
    return noise.uniform(-1.0, 1.0) * KB


def every_second(seed: int, n: int, size: float, jumps: tuple[float, ...] = ()) -> list[float]:
    """A value that rises in every second round, and by a jump in some."""
    noise = random.Random(seed)
    at = {noise.randrange(5, n // 2): jump for jump in jumps}
    value, values = 20_000.0 * KB, []
    for t in range(n):
        value += size * (t % 2) + at.get(t, 0.0)
        values.append(value + jitter(noise))
    return values


def toothed(seed: int, n: int, period: int, pace: float, kept: float) -> list[float]:
    """Garbage that is collected every ``period`` rounds, but for what each collection leaves."""
    noise = random.Random(seed)
    first = noise.randrange(period)
    collected = [(t + first) // period for t in range(n)]
    return [
        pace * ((t + first) % period) + kept * times + jitter(noise)
        for t, times in enumerate(collected)
    ]


def stepped(seed: int, n: int, steps: dict[int, float]) -> list[float]:
    """A level that creeps by 20 kB in all, and steps."""
    noise = random.Random(seed)
    risen = [sum(height for at, height in steps.items() if at <= t) for t in range(n)]
    return [20.0 * KB * t / n + risen[t] + jitter(noise) for t in range(n)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("jumps", [(), (100 * KB,), (100 * KB, 130 * KB)])
@pytest.mark.parametrize("n", [40, 80, 200])
def test_straight_growth_in_every_second_round_is_a_leak(seed, jumps, n):
    verdict = judge_series(every_second(seed, n, 200 * KB, jumps), noise_floor=16_384)
    assert verdict.growing == "yes", verdict.reason
    assert verdict.rate == pytest.approx(100 * KB, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_growth_in_every_second_round_that_stops_is_no_leak(seed):
    values = every_second(seed, 70, 200 * KB, (100 * KB, 130 * KB))
    values += [values[-1]] * 10
    assert judge_series(values, noise_floor=16_384).growing != "yes"


TEETH = [(200, 20, 11.6 * KB), (100, 12, 80 * KB), (120, 15, 165 * KB), (600, 11, 30 * KB)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "period", "pace"), TEETH)
def test_floors_that_rise_in_a_line_under_teeth_are_a_leak(seed, n, period, pace):
    verdict = judge_series(toothed(seed, n, period, pace, 70 * KB), noise_floor=16_384)
    assert verdict.growing == "yes", verdict.reason
    assert verdict.rate == pytest.approx(70 * KB / period, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "period", "pace"), [*TEETH, (100, 40, 80 * KB), (300, 130, 80 * KB)])
def test_level_floors_under_teeth_are_no_leak(seed, n, period, pace):
    verdict = judge_series(toothed(seed, n, period, pace, 0.0), noise_floor=16_384)
    assert (verdict.growing, verdict.shape) == ("no", "sawtooth"), verdict.reason


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("n", [400, 1000])
def test_a_few_lone_steps_in_flat_rounds_are_no_leak(seed, count, n):
    noise = random.Random(100 + seed)
    steps = {noise.randrange(n // 10, n - n // 7): 1000 * KB for _ in range(count)}
    verdict = judge_series(stepped(seed, n, {48: 158 * KB} | steps), noise_floor=16_384)
    assert verdict.growing != "yes", verdict.reason


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wait", [25, 50])
def test_steps_at_even_distances_beside_lone_ones_are_a_leak(seed, wait):
    steps = dict.fromkeys(range(wait - 2, 1000, wait), 158 * KB)
    verdict = judge_series(
        stepped(seed, 1000, steps | {259: 1000 * KB, 551: 1000 * KB}), noise_floor=16_384
    )
    assert verdict.growing == "yes", verdict.reason


def uneven_teeth(seed: int, n: int, slope: float) -> list[float]:
    """Teeth of 5 to 20 rounds over a slope, in noise of 1: the lower ones are hidden by it."""
    noise = random.Random(seed)
    values, age, period = [], 0, noise.randint(5, 20)
    for t in range(n):
        values.append(0.83 * age + slope * t + noise.gauss(0.0, 1.0))
        age += 1
        if age == period:
            age, period = 0, noise.randint(5, 20)
    return values


@pytest.mark.parametrize("n", [300, 1000])
def test_slow_growth_under_uneven_teeth_is_found_in_a_long_run(n):
    verdicts = [judge_series(uneven_teeth(seed, n, 0.2)) for seed in range(10)]
    assert [verdict.growing for verdict in verdicts].count("yes") >= 9


@pytest.mark.parametrize("n", [100, 300, 1000])
def test_uneven_teeth_over_a_level_floor_are_no_leak(n):
    assert all(judge_series(uneven_teeth(seed, n, 0.0)).growing != "yes" for seed in range(10))


@pytest.mark.parametrize("seed", SEEDS)
def test_bursts_of_any_height_are_no_teeth_over_rising_floors(seed):
    noise = random.Random(seed)
    values = [noise.choice([0.0, 0.0, 0.0, 30.0, 60.0]) * KB + jitter(noise) for _ in range(160)]
    assert judge_series(values, noise_floor=16_384).growing == "no"


@pytest.mark.parametrize(
    "values",
    [
        [float(n * n) for n in range(12)],
        [2.0**n for n in range(12)],
        [1e5 * n**3 + 5e7 for n in range(9)],
        [1e4 * n * n for n in range(300)],
    ],
    ids=["square", "doubling", "cubic", "long"],
)
def test_growth_that_gets_faster_began_when_it_was_slow(values):
    verdict = judge_series(values)
    assert verdict.growing == "yes"
    assert verdict.started is not None
    assert verdict.started <= max(2, len(values) // 40)
