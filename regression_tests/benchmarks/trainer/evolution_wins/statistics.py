"""Interquartile means and their intervals (Agarwal et al. 2021, the method of rliable)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

#: Draws of a bootstrap, and the share of them that an interval holds.
DRAWS, CONFIDENCE = 10_000, 0.95

Strata = Sequence[Sequence[float]]


def iqm(scores: np.ndarray) -> np.ndarray:
    """Mean of the middle half along the last axis; a quarter of the values is cut at each end."""
    ordered = np.sort(scores, axis=-1)
    cut = scores.shape[-1] // 4
    return ordered[..., cut : scores.shape[-1] - cut].mean(axis=-1)


def estimate(strata: Strata) -> tuple[float, float, float]:
    """The interquartile mean of all scores and its interval, seeds redrawn within each task."""
    return _with_interval(lambda draws: iqm(draws(strata)))


def difference(one: Strata, other: Strata) -> tuple[float, float, float]:
    """How far the interquartile mean of `one` lies above that of `other`, with its interval."""
    return _with_interval(lambda draws: iqm(draws(one)) - iqm(draws(other)))


def _with_interval(
    statistic: Callable[[Callable[[Strata], np.ndarray]], np.ndarray],
) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)

    def redrawn(strata: Strata) -> np.ndarray:
        parts = [
            np.asarray(scores)[rng.integers(len(scores), size=(DRAWS, len(scores)))]
            for scores in strata
        ]
        return np.concatenate(parts, axis=1)

    value = float(statistic(lambda strata: np.concatenate([np.asarray(s) for s in strata])))
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(statistic(redrawn), [tail, 100 - tail])
    return value, float(low), float(high)
