"""Checks, sorts and scales the values to be judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

# Between these values, squares and their products neither overflow nor underflow.
_SMALLEST_SQUARED, _LARGEST_SQUARED = 1e-60, 1e60
# The largest exponent of two, positive or negative, that is safely within a double's range.
_POWERS_OF_TWO = 1_000


def checked(
    values: Sequence[float], at: Sequence[float] | None, noise_floor: float, warmup: int
) -> tuple[list[float], list[float]]:
    """Return the generations in order, and their values; raise ValueError for unusable ones."""
    series = [float(v) for v in values]
    if not all(map(math.isfinite, series)):
        bad = next(i for i, v in enumerate(series) if not math.isfinite(v))
        raise ValueError(f"round {bad} is {series[bad]}: leave out rounds that were not measured")
    if not (math.isfinite(noise_floor) and noise_floor >= 0.0):
        raise ValueError(f"noise_floor is {noise_floor}: give a size of 0 or more")
    if warmup < 0:
        raise ValueError(f"warmup is {warmup}: give a number of rounds of 0 or more")
    if at is None:
        return list(map(float, range(len(series)))), series
    if len(at) != len(series):
        raise ValueError(f"{len(series)} values at {len(at)} generations: give one for each")
    order = sorted(range(len(at)), key=at.__getitem__)
    times = [float(at[i]) for i in order]
    if not all(map(math.isfinite, times)) or any(a == b for a, b in pairwise(times)):
        raise ValueError("generations are not finite or not different: give each value its own")
    return times, [series[i] for i in order]


def unit_of(series: Sequence[float]) -> float:
    """Return the unit to divide by: 1, or for extreme numbers a power of two near their peak."""
    peak = max(map(abs, series), default=0.0)
    if peak == 0.0 or _SMALLEST_SQUARED < peak < _LARGEST_SQUARED:
        return 1.0
    return math.ldexp(1.0, max(-_POWERS_OF_TWO, min(_POWERS_OF_TWO, math.frexp(peak)[1])))
