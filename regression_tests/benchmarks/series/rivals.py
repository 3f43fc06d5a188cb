"""The rules that people use today, to compare with: all of them say leak or no leak."""

from __future__ import annotations

import math

import numpy as np

_ONE_PERCENT = 2.326


def mann_kendall(values: np.ndarray) -> bool:
    """Return True when all points show an upward trend, one-sided, risk 1 % (Mann 1945)."""
    n = len(values)
    score = sum(np.sign(values[i + 1 :] - values[i]).sum() for i in range(n - 1))
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    return bool((score - np.sign(score)) / deviation > _ONE_PERCENT)


def window_floor(values: np.ndarray) -> bool:
    """Return True when the floors of four windows keep rising through the second half.

    Each must rise by more than a quarter of the noise, the last by at least half of the first.
    Fewer than eight rounds have no four windows.
    """
    if len(values) < 8:
        return False
    noise = 1.4826 * np.median(np.abs(np.diff(values))) / math.sqrt(2.0)
    floors = np.array([w.min() for w in np.array_split(values[len(values) // 2 :], 4)])
    rises = np.diff(floors)
    return bool((rises > 0.25 * noise).all() and rises[-1] >= 0.5 * rises[0])


def window_floor_and_tail(values: np.ndarray) -> bool:
    """Return True when the window floors rise and Mann-Kendall agrees on the second half."""
    return window_floor(values) and mann_kendall(values[len(values) // 2 :])


RULES = (mann_kendall, window_floor, window_floor_and_tail)
