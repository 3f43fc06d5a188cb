"""Growth in which something else was freed once: it goes on, or it does not."""

from __future__ import annotations

import pytest

from leakguard.analysis.series import judge_series

ROUNDS = 80


@pytest.mark.parametrize("at", [58, 64, 70])
@pytest.mark.parametrize("fall", [100_000, 300_000])
def test_growth_that_goes_on_after_something_was_freed_late_is_growth(at, fall):
    values = [67_000.0 * n + 400 * (n * 7 % 5) - (fall if n >= at else 0) for n in range(ROUNDS)]
    verdict = judge_series(values, noise_floor=16_384)
    assert verdict.growing == "yes"
    assert verdict.rate == pytest.approx(67_000, rel=0.05)


@pytest.mark.parametrize("at", [58, 64, 70])
def test_growth_that_ends_when_something_was_freed_late_is_not_called_growth(at):
    values = [67_000.0 * min(n, at) - (300_000 if n >= at else 0) for n in range(ROUNDS)]
    assert judge_series(values, noise_floor=16_384).growing != "yes"


def test_count_that_stopped_between_two_far_looks_is_not_called_growth():
    looks = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 23, 28, 34, 43, 52, 62, 100)
    counts = [float(min(25 * look, 1_600)) for look in looks]
    assert judge_series(counts, at=looks, integer=True).growing != "yes"
