"""Short simulated series: 4 to 32 rounds, as in a test or a run of a few generations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regression_tests.benchmarks.series.simulated import Generator, Make, Row

_LENGTHS = (4, 6, 8, 12, 16, 32)


def _white(n: int) -> Make:
    return lambda rng: rng.normal(size=n)


def _walk(n: int) -> Make:
    return lambda rng: np.cumsum(rng.normal(size=n))


def _autoregressive(n: int) -> Make:
    def make(rng: Generator) -> np.ndarray:
        values = [rng.normal() / np.sqrt(1.0 - 0.81)]
        for _ in range(n - 1):
            values.append(0.9 * values[-1] + rng.normal())
        return np.array(values)

    return make


def _warm_up(n: int) -> Make:
    """Ends within the series: the time constant is a tenth to a quarter of it."""
    return lambda rng: (
        100.0 * (1.0 - np.exp(-np.arange(n) / (rng.uniform(0.1, 0.25) * n))) + rng.normal(size=n)
    )


def _filling(n: int) -> Make:
    """Still rises at the end: the time constant is half of the series to all of it."""
    return lambda rng: (
        100.0 * (1.0 - np.exp(-np.arange(n) / (rng.uniform(0.5, 1.0) * n))) + rng.normal(size=n)
    )


def _full(n: int) -> Make:
    return lambda rng: (
        100.0 * np.minimum(1.0, np.arange(n) / (rng.uniform(0.3, 0.6) * n)) + rng.normal(size=n)
    )


def _step(n: int) -> Make:
    return lambda rng: 50.0 * (np.arange(n) >= rng.integers(1, max(2, n - 2))) + rng.normal(size=n)


def _leak(n: int, rate: float, warm_up: float = 0.0) -> Make:
    return lambda rng: rate * np.arange(n) + warm_up * (np.arange(n) > 0) + rng.normal(size=n)


_NONE: tuple[tuple[str, Callable[[int], Make]], ...] = (
    ("white noise", _white),
    ("random walk", _walk),
    ("AR(1) 0.9", _autoregressive),
    ("warm-up that ends", _warm_up),
    ("saturation under way", _filling),
    ("buffer full at 30 to 60 %", _full),
    ("one step", _step),
)
_LEAKS: tuple[tuple[str, Callable[[int], Make]], ...] = (
    ("10 a round", lambda n: _leak(n, 10.0)),
    ("10 a round after a first step of 100", lambda n: _leak(n, 10.0, 100.0)),
    ("3 a round", lambda n: _leak(n, 3.0)),
)

FEW_ROWS = (
    *(Row(f"{name}, {n} rounds", "none", make(n)) for name, make in _NONE for n in _LENGTHS),
    *(
        Row(f"{name}, {n} rounds", "leak", make(n), asked=False)
        for name, make in _LEAKS
        for n in _LENGTHS
    ),
)
