"""Simulated series of known truth: a row of the table is a name, a truth and a generator.

Noise has a standard deviation of 1 a round (of the innovations for AR(1) and the random walk), so
every height and rate is in units of the noise. A series has 100 to 120 rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Generator = np.random.Generator
Make = Callable[[Generator], np.ndarray]


@dataclass(frozen=True)
class Row:
    """One kind of series and whether it is a leak; ``asked`` rows have a promise to keep."""

    name: str
    truth: Literal["none", "leak"]
    make: Make
    asked: bool = True


def _rounds(rng: Generator) -> np.ndarray:
    return np.arange(rng.integers(100, 121), dtype=float)


def _white(rng: Generator, rounds: np.ndarray) -> np.ndarray:
    return rng.normal(size=len(rounds))


def _signal(shape: Callable[[Generator, np.ndarray], np.ndarray]) -> Make:
    """White noise around a shape."""

    def make(rng: Generator) -> np.ndarray:
        rounds = _rounds(rng)
        return shape(rng, rounds) + _white(rng, rounds)

    return make


def autoregressive(coefficient: float, slope: float = 0.0) -> Make:
    def make(rng: Generator) -> np.ndarray:
        rounds = _rounds(rng)
        shocks = _white(rng, rounds)
        values = np.empty(len(rounds))
        values[0] = shocks[0] / np.sqrt(1.0 - coefficient**2)
        for i in range(1, len(rounds)):
            values[i] = coefficient * values[i - 1] + shocks[i]
        return values + slope * rounds

    return make


def random_walk(rng: Generator) -> np.ndarray:
    return np.cumsum(_white(rng, _rounds(rng)))


def walk_in_noise(share: float) -> Make:
    """White noise around a random walk whose steps have ``share`` of its variance."""

    def make(rng: Generator) -> np.ndarray:
        rounds = _rounds(rng)
        return np.sqrt(share) * np.cumsum(_white(rng, rounds)) + _white(rng, rounds)

    return make


def heavy_tails(rng: Generator) -> np.ndarray:
    return rng.standard_t(2, size=len(_rounds(rng)))


def linear(rate: float) -> Make:
    return _signal(lambda rng, t: rate * t)


def warm_up(tau: float, height: float, rate: float = 0.0) -> Make:
    return _signal(lambda rng, t: height * (1.0 - np.exp(-t / tau)) + rate * t)


def slow_saturation(height: float, slowest: float = 1.0) -> Make:
    """The time constant is 0.5 to ``slowest`` times the length of the series."""
    return _signal(
        lambda rng, t: height * (1.0 - np.exp(-t / (rng.uniform(0.5, slowest) * len(t))))
    )


def steps(count: int, height: float, even: bool = False) -> Make:
    def shape(rng: Generator, t: np.ndarray) -> np.ndarray:
        at = np.arange(1, count + 1) / (count + 1) if even else rng.uniform(0.1, 0.9, size=count)
        return height * (t[:, None] >= at * len(t)).sum(axis=1)

    return _signal(shape)


def late_step(height: float) -> Make:
    return _signal(lambda rng, t: height * (t >= rng.uniform(0.85, 0.97) * len(t)))


def buffer_fill(height: float, start: float = 0.0, full: float = 0.6) -> Make:
    def shape(rng: Generator, t: np.ndarray) -> np.ndarray:
        return height * np.clip((t / len(t) - start) / (full - start), 0.0, 1.0)

    return _signal(shape)


def any_fill(height: float) -> Make:
    def shape(rng: Generator, t: np.ndarray) -> np.ndarray:
        start = rng.uniform(0.0, 0.4)
        full = rng.uniform(start + 0.1, 0.8)
        return height * np.clip((t / len(t) - start) / (full - start), 0.0, 1.0)

    return _signal(shape)


def _teeth(rng: Generator, t: np.ndarray, period: float, height: float) -> np.ndarray:
    return height * (((t + rng.integers(0, int(period))) % period) / period)


def sawtooth(height: float, period: float = 12, rate: float = 0.0) -> Make:
    return _signal(lambda rng, t: _teeth(rng, t, period, height) + rate * t)


def uneven_sawtooth(height: float, rate: float = 0.0) -> Make:
    """Teeth of 5 to 20 rounds, as a lazy collector makes them."""

    def shape(rng: Generator, t: np.ndarray) -> np.ndarray:
        values, age, length = np.empty(len(t)), 0, rng.integers(5, 21)
        for i in range(len(t)):
            values[i], age = height * age / 12.0, age + 1
            if age >= length:
                age, length = 0, rng.integers(5, 21)
        return values + rate * t

    return _signal(shape)


def bursts(height: float) -> Make:
    def shape(rng: Generator, t: np.ndarray) -> np.ndarray:
        values = np.zeros(len(t))
        for start in rng.integers(0, len(t), size=5):
            values[start : start + rng.integers(1, 7)] += height
        return values

    return _signal(shape)


def starts_mid_run(rate: float) -> Make:
    return _signal(lambda rng, t: rate * np.clip(t - rng.uniform(0.4, 0.6) * len(t), 0.0, None))


def every(period: int, height: float) -> Make:
    return _signal(lambda rng, t: height * ((t + rng.integers(0, period)) // period))


def accelerating(rate: float) -> Make:
    return _signal(lambda rng, t: rate * t**2 / len(t))


ROWS = (
    Row("white noise", "none", lambda rng: _white(rng, _rounds(rng))),
    Row("AR(1) 0.5", "none", autoregressive(0.5)),
    Row("AR(1) 0.9", "none", autoregressive(0.9)),
    Row("random walk", "none", random_walk),
    Row("random walk in white noise, 1 % of its variance", "none", walk_in_noise(0.01)),
    Row("random walk in white noise, 10 % of its variance", "none", walk_in_noise(0.1)),
    Row("heavy tails (Student t, 2 degrees)", "none", heavy_tails),
    Row("warm-up, tau 15", "none", warm_up(15, 20)),
    Row("warm-up, tau 40", "none", warm_up(40, 20)),
    Row("small warm-up, tau 15", "none", warm_up(15, 5)),
    Row("slow saturation, tau 0.5 to 1 run, height 30", "none", slow_saturation(30)),
    Row("slow saturation, tau 0.5 to 1 run, height 15", "none", slow_saturation(15)),
    Row("one step", "none", steps(1, 10)),
    Row("one step near the end", "none", late_step(10)),
    Row("three steps", "none", steps(3, 5)),
    Row("three even steps", "none", steps(3, 5, even=True)),
    Row("five steps", "none", steps(5, 5)),
    Row("buffer fill to 60 %", "none", buffer_fill(20)),
    Row("buffer that starts at 30 % and is full at 80 %", "none", buffer_fill(20, 0.3, 0.8)),
    Row("sawtooth", "none", sawtooth(10)),
    Row("uneven sawtooth", "none", uneven_sawtooth(10)),
    Row("bursts", "none", bursts(10)),
    Row("sawtooth of long teeth", "none", sawtooth(10, period=45)),
    Row("high warm-up, tau 15", "none", warm_up(15, 300)),
    Row("high warm-up, tau 40", "none", warm_up(40, 300)),
    Row("high slow saturation, tau 0.5 to 1 run", "none", slow_saturation(300)),
    Row("high buffer fill to 60 %", "none", buffer_fill(300)),
    Row("high buffer fill, start and end anywhere", "none", any_fill(300)),
    Row("three high steps", "none", steps(3, 80)),
    Row("five high steps", "none", steps(5, 80)),
    Row("high sawtooth", "none", sawtooth(100)),
    Row("high uneven sawtooth", "none", uneven_sawtooth(100)),
    Row("high bursts", "none", bursts(100)),
    Row("linear, 0.2 a round", "leak", linear(0.2)),
    Row("linear, 0.05 a round", "leak", linear(0.05), asked=False),
    Row("linear, 0.1 a round", "leak", linear(0.1), asked=False),
    Row("warm-up, then 0.2 a round", "leak", warm_up(15, 20, 0.2)),
    Row("starts mid-run, 0.3 a round", "leak", starts_mid_run(0.3)),
    Row("0.2 a round under a sawtooth", "leak", sawtooth(10, rate=0.2)),
    Row("0.2 a round under an uneven sawtooth", "leak", uneven_sawtooth(10, rate=0.2)),
    Row("a step of 3 every 10th round", "leak", every(10, 3.0)),
    Row("a step of 10 every 10th round", "leak", every(10, 10.0)),
    Row("linear, 2 a round", "leak", linear(2.0)),
    Row("high warm-up, then 0.5 a round", "leak", warm_up(15, 300, 0.5)),
    Row("starts mid-run, 2 a round", "leak", starts_mid_run(2.0)),
    Row("0.5 a round under a high sawtooth", "leak", sawtooth(100, rate=0.5)),
    Row("accelerating", "leak", accelerating(0.3)),
    Row("linear, 0.2 a round, in AR(1) 0.5", "leak", autoregressive(0.5, 0.2), asked=False),
)
