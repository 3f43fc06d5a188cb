"""From one length to the next no answer jumps: one generation more makes no other run of it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from leakguard.analysis.series import judge_series

SERIES = 60  # of each length; a share of it is off by 0.065 at most (one standard error)
# Four standard errors of the difference of two shares.
LARGEST_STEP = 4 * 0.065 * 2**0.5


def shares(rate: float, generations: int) -> Counter[str]:
    rng = np.random.default_rng([11, generations])
    rise = rate * np.arange(generations)
    told = (judge_series((rise + rng.normal(size=generations)).tolist()) for _ in range(SERIES))
    return Counter(verdict.growing for verdict in told)


@pytest.mark.parametrize("rate", [0.2, 0.5, 1.0])
def test_shares_of_slow_leaks_that_are_found_and_denied_move_in_small_steps(rate):
    found = [shares(rate, generations) for generations in range(6, 18)]
    for answer in ("yes", "no"):
        steps = [abs(b[answer] - a[answer]) / SERIES for a, b in pairwise(found)]
        assert max(steps) <= LARGEST_STEP, f"{answer}: {steps}"
