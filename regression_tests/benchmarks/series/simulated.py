"""Simulated series of known truth: a row of the table is a name, a truth and a generator.

A generator makes the value of each generation of a run, of any length. Noise has a standard
deviation of 1 (of the innovations for AR(1) and the random walk), so heights and rates are in units
of the noise; rows of counts are whole numbers without noise unless their name says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Generator = np.random.Generator
Make = Callable[[Generator, int], np.ndarray]


@dataclass(frozen=True)
class Row:
    """One kind of series and whether it is a leak.

    Attributes:
        counts: the values are whole numbers, and judged as such.
        shortest: generations that a run needs to show this shape at all.
        asked: shortest run in which the leak must be found; None where no detection is promised.
    """

    name: str
    truth: Literal["none", "leak"]
    make: Make
    counts: bool = False
    shortest: int = 4
    asked: int | None = None


def spread_looks(generations: int) -> list[int]:
    """Return generations 1, 2, 3, 4, 6, 9, 13, 20, 31, 47, ... and the last one (from 1 on)."""
    looks, at = [1, 2, 3], 4.0
    while at < generations:
        looks.append(int(at))
        at *= 1.51
    return [*(g for g in looks if g < generations), generations]


def white(rng: Generator, n: int) -> np.ndarray:
    return rng.normal(size=n)


def noisy(shape: Make) -> Make:
    """White noise around a shape."""
    return lambda rng, n: shape(rng, n) + white(rng, n)


def autoregressive(coefficient: float, slope: float = 0.0) -> Make:
    def make(rng: Generator, n: int) -> np.ndarray:
        shocks, values = white(rng, n), np.empty(n)
        values[0] = shocks[0] / np.sqrt(1.0 - coefficient**2)
        for i in range(1, n):
            values[i] = coefficient * values[i - 1] + shocks[i]
        return values + slope * np.arange(n)

    return make


def walk(rng: Generator, n: int) -> np.ndarray:
    return np.cumsum(white(rng, n))


def walk_in_noise(share: float) -> Make:
    """White noise around a random walk whose steps have ``share`` of its variance."""
    return lambda rng, n: np.sqrt(share) * walk(rng, n) + white(rng, n)


def linear(rate: float) -> Make:
    return lambda rng, n: rate * np.arange(n)


def saturation(height: float, fastest: float, slowest: float) -> Make:
    """The time constant is ``fastest`` to ``slowest`` times the run."""
    return lambda rng, n: (
        height * (1.0 - np.exp(-np.arange(n) / (rng.uniform(fastest, slowest) * n)))
    )


def warm_up(generations: float, height: float) -> Make:
    return lambda rng, n: height * (1.0 - np.exp(-np.arange(n) / generations))


def steps(count: int, height: float, last: float = 0.9, even: bool = False) -> Make:
    def make(rng: Generator, n: int) -> np.ndarray:
        at = np.arange(1, count + 1) / (count + 1) if even else rng.uniform(0.1, last, size=count)
        return height * (np.arange(n)[:, None] >= at * n).sum(axis=1)

    return make


def step_between(height: float, first: float, last: float) -> Make:
    return lambda rng, n: height * (np.arange(n) >= rng.uniform(first, last) * n)


def fill(height: float, start: tuple[float, float], full: tuple[float, float]) -> Make:
    """Rises steadily from ``start`` on until it is ``full``, both in shares of the run."""

    def make(rng: Generator, n: int) -> np.ndarray:
        begun = rng.uniform(*start)
        over = max(begun + 0.1, rng.uniform(*full))
        return height * np.clip((np.arange(n) / n - begun) / (over - begun), 0.0, 1.0)

    return make


def teeth(height: float, period: Callable[[Generator, int], float]) -> Make:
    def make(rng: Generator, n: int) -> np.ndarray:
        length = period(rng, n)
        return height * (((np.arange(n) + rng.uniform(0.0, length)) % length) / length)

    return make


def uneven_teeth(rate: float, shortest: int = 5, longest: int = 20) -> Make:
    """Teeth of 5 to 20 generations, as a lazy collector makes them."""

    def make(rng: Generator, n: int) -> np.ndarray:
        values, age, length = np.empty(n), 0, rng.integers(shortest, longest + 1)
        for i in range(n):
            values[i], age = rate * age, age + 1
            if age >= length:
                age, length = 0, rng.integers(shortest, longest + 1)
        return values

    return make


def bursts(height: float) -> Make:
    def make(rng: Generator, n: int) -> np.ndarray:
        values = np.zeros(n)
        for start in rng.integers(0, n, size=5):
            values[start : start + rng.integers(1, 7)] += height
        return values

    return make


def starts_at(rate: float, first: float, last: float) -> Make:
    """Grows from a generation on that lies between two shares of the run."""
    return lambda rng, n: rate * np.clip(np.arange(n) - int(rng.uniform(first, last) * n), 0, None)


def every(period: Callable[[Generator, int], int], height: float) -> Make:
    def make(rng: Generator, n: int) -> np.ndarray:
        wait = period(rng, n)
        return height * ((np.arange(n) + rng.integers(0, wait)) // wait)

    return make


def accelerating(rate: float) -> Make:
    return lambda rng, n: rate * np.arange(n) ** 2 / n


def flushed(rng: Generator, n: int) -> np.ndarray:
    """A list of 3 entries a generation, emptied every 10 to 50 generations (once in the run)."""
    period = int(rng.integers(10, max(11, min(50, int(n / 1.3)) + 1)))
    return 3.0 * ((np.arange(n) + rng.integers(0, period)) % period)


def expiring(rng: Generator, n: int) -> np.ndarray:
    """A cache whose entries live for 10 to 50 generations, half of the run at the most."""
    ttl = int(rng.integers(min(10, n // 2), max(11, min(50, n // 2) + 1)))
    added = rng.integers(3, 6, size=n)
    return np.convolve(added, np.ones(ttl))[:n]


def doubling(rng: Generator, n: int) -> np.ndarray:
    """A pool that doubles whenever it is full, until what it holds stops growing."""
    needed = np.minimum(np.arange(n) + 1, rng.uniform(0.3, 0.7) * n)
    return 8.0 * 2.0 ** np.ceil(np.log2(needed))


def over_allocated(rng: Generator, n: int) -> np.ndarray:
    """Bytes of a list that is appended to until its length is bounded."""
    end, size, sizes = rng.uniform(0.3, 0.7) * n, 0, []
    for i in range(n):
        needed = 5 * int(min(i + 1, end))
        if needed > size:
            size = (needed + (needed >> 3) + 6) & ~3
        sizes.append(56.0 + 8.0 * size)
    return np.array(sizes)


def alternating(rng: Generator, n: int) -> np.ndarray:
    """Working sets of 2 to 5 sizes that take turns."""
    sizes = rng.integers(10, 200, size=int(rng.integers(2, 6)))
    return sizes[(np.arange(n) + rng.integers(0, len(sizes))) % len(sizes)].astype(float)


def turnover(rng: Generator, n: int) -> np.ndarray:
    """A set that loses and gains members, and keeps its size."""
    return 200.0 + np.round(rng.normal(scale=3.0, size=n))


def early_rises(rng: Generator, n: int) -> np.ndarray:
    """A count that rises in some of the first generations and never later."""
    last = max(2, min(10, n // 5))
    rises = np.zeros(n)
    rises[1 : last + 1] = rng.integers(0, 3, size=last)
    return np.cumsum(rises)


def cache_of_keys(rng: Generator, n: int) -> np.ndarray:
    """Distinct keys of a bounded set, drawn at random: it fills ever more slowly."""
    keys = int(rng.integers(20, 200))
    draws = max(1, int(rng.uniform(3.0, 8.0) * keys / n))
    seen: set[int] = set()
    sizes = []
    for _ in range(n):
        seen.update(rng.integers(0, keys, size=draws).tolist())
        sizes.append(float(len(seen)))
    return np.array(sizes)


def plus(*parts: Make) -> Make:
    return lambda rng, n: sum((part(rng, n) for part in parts), np.zeros(n))


def _to(low: int, high: int) -> Callable[[Generator, int], int]:
    return lambda rng, n: int(rng.integers(low, high + 1))


def _twelve(rng: Generator, n: int) -> float:
    return 12.0


def _of_the_run(share: float) -> Callable[[Generator, int], float]:
    return lambda rng, n: max(3.0, share * n)


NOISE = (
    Row("white noise", "none", white),
    Row("AR(1) 0.5", "none", autoregressive(0.5)),
    Row("AR(1) 0.9", "none", autoregressive(0.9)),
    Row("random walk", "none", walk),
    Row("random walk in white noise, 1 % of its variance", "none", walk_in_noise(0.01)),
    Row("random walk in white noise, 10 % of its variance", "none", walk_in_noise(0.1)),
    Row("heavy tails (Student t, 2 degrees)", "none", lambda rng, n: rng.standard_t(2, size=n)),
    Row("bursts of 10", "none", noisy(bursts(10)), shortest=12),
    Row("bursts of 100", "none", noisy(bursts(100)), shortest=12),
    Row("turnover (counts)", "none", turnover, counts=True),
    Row("alternating working sets (counts)", "none", alternating, counts=True),
)
CURVES = (
    Row("warm-up, 0.1 to 0.25 of the run, height 100", "none", noisy(saturation(100, 0.1, 0.25))),
    Row("warm-up, 0.15 of the run, height 20", "none", noisy(saturation(20, 0.15, 0.15))),
    Row("warm-up, 0.15 of the run, height 5", "none", noisy(saturation(5, 0.15, 0.15))),
    Row("warm-up, 0.4 of the run, height 20", "none", noisy(saturation(20, 0.4, 0.4))),
    Row("warm-up, 0.15 of the run, height 300", "none", noisy(saturation(300, 0.15, 0.15))),
    Row("warm-up, 0.4 of the run, height 300", "none", noisy(saturation(300, 0.4, 0.4))),
    Row("saturation, 0.5 to 1 run, height 15", "none", noisy(saturation(15, 0.5, 1)), shortest=100),
    Row("saturation, 0.5 to 1 run, height 30", "none", noisy(saturation(30, 0.5, 1)), shortest=30),
    Row("saturation, 0.5 to 1 run, height 100", "none", noisy(saturation(100, 0.5, 1))),
    Row("saturation, 0.5 to 1 run, height 300", "none", noisy(saturation(300, 0.5, 1))),
    Row("cache of random keys (counts)", "none", cache_of_keys, counts=True, shortest=8),
)
STEPS = (
    Row("one step of 50", "none", noisy(step_between(50, 0.1, 0.9))),
    Row("one step of 10", "none", noisy(step_between(10, 0.1, 0.9)), shortest=8),
    Row("one step of 10 near the end", "none", noisy(step_between(10, 0.85, 0.97)), shortest=8),
    Row("three steps of 5", "none", noisy(steps(3, 5)), shortest=12),
    Row("three steps of 80", "none", noisy(steps(3, 80)), shortest=12),
    Row("three even steps of 5", "none", noisy(steps(3, 5, even=True)), shortest=12),
    Row("five steps of 5", "none", noisy(steps(5, 5)), shortest=20),
    Row("five steps of 80", "none", noisy(steps(5, 80)), shortest=20),
    Row("two to four steps, over at 0.6 (counts)", "none",
        lambda rng, n: steps(int(rng.integers(2, 5)), 16, 0.6)(rng, n), counts=True, shortest=12),
    Row("rises early, never later (counts)", "none", early_rises, counts=True, shortest=12),
)  # fmt: skip
FILLS = (
    Row("buffer full at 0.3 to 0.6, height 100", "none", noisy(fill(100, (0, 0), (0.3, 0.6)))),
    Row("buffer full at 0.6, height 20", "none", noisy(fill(20, (0, 0), (0.6, 0.6)))),
    Row("buffer full at 0.6, height 300", "none", noisy(fill(300, (0, 0), (0.6, 0.6)))),
    Row("buffer from 0.3 to 0.8, height 20", "none", noisy(fill(20, (0.3, 0.3), (0.8, 0.8))),
        shortest=12),
    Row("buffer anywhere, height 300", "none", noisy(fill(300, (0, 0.4), (0.2, 0.8))),
        shortest=12),
    Row("buffer full at 0.3 to 0.7 (counts)", "none",
        lambda rng, n: np.floor(fill(1000, (0, 0), (0.3, 0.7))(rng, n)), counts=True),
    Row("buffer that fills late, from 0.3-0.5 to 0.6-0.8 (counts)", "none",
        lambda rng, n: np.floor(fill(1000, (0.3, 0.5), (0.6, 0.8))(rng, n)), counts=True,
        shortest=12),
    Row("pool that doubles, full at 0.3 to 0.7 (counts)", "none", doubling, counts=True),
    Row("list over-allocated, bounded at 0.3 to 0.7 (counts)", "none", over_allocated, counts=True),
    Row("entries that expire after 10 to 50 generations (counts)", "none", expiring, counts=True,
        shortest=20),
)  # fmt: skip
TEETH = (
    Row("sawtooth of 10, period 12", "none", noisy(teeth(10, _twelve)), shortest=16),
    Row("sawtooth of 100, period 12", "none", noisy(teeth(100, _twelve)), shortest=16),
    Row("sawtooth of 10, period 0.4 of the run", "none", noisy(teeth(10, _of_the_run(0.4)))),
    Row("sawtooth of 100, period 0.4 of the run", "none", noisy(teeth(100, _of_the_run(0.4)))),
    Row(
        "sawtooth of 100, period 0.7 of the run",
        "none",
        noisy(teeth(100, _of_the_run(0.7))),
        shortest=10,
    ),
    Row("uneven sawtooth of 10", "none", noisy(uneven_teeth(0.83)), shortest=25),
    Row("uneven sawtooth of 100", "none", noisy(uneven_teeth(8.3)), shortest=25),
    Row("uneven sawtooth (counts)", "none", uneven_teeth(4), counts=True, shortest=25),
    Row("flushed every 10 to 50 generations (counts)", "none", flushed, counts=True, shortest=13),
)
LEAKS = (
    Row("10 a generation", "leak", noisy(linear(10)), asked=10),
    Row("3 a generation", "leak", noisy(linear(3)), asked=20),
    Row("1 a generation", "leak", noisy(linear(1)), asked=100),
    Row("0.5 a generation", "leak", noisy(linear(0.5)), asked=100),
    Row("0.2 a generation", "leak", noisy(linear(0.2)), asked=100),
    Row("0.1 a generation", "leak", noisy(linear(0.1)), asked=300),
    Row("0.05 a generation", "leak", noisy(linear(0.05)), asked=300),
    Row("0.2 a generation in AR(1) 0.5", "leak", autoregressive(0.5, 0.2), asked=300),
    Row("10 a generation after a step of 100", "leak",
        lambda rng, n: linear(10)(rng, n) + 100.0 * (np.arange(n) > 0) + white(rng, n), asked=10),
    Row("warm-up of 15 generations and 20, then 0.2", "leak",
        noisy(plus(warm_up(15, 20), linear(0.2))), shortest=60, asked=100),
    Row("warm-up of 15 generations and 300, then 0.5", "leak",
        noisy(plus(warm_up(15, 300), linear(0.5))), shortest=60, asked=100),
    Row("1 a generation, from 0.4-0.6 on", "leak", noisy(starts_at(1, 0.4, 0.6)), shortest=20,
        asked=60),
    Row("1 a generation, from 0.66 on", "leak", noisy(starts_at(1, 0.66, 0.67)), shortest=20,
        asked=100),
    Row("3 a generation, from 0.66 on (counts)", "leak", starts_at(3, 0.66, 0.67), counts=True,
        shortest=20, asked=20),
    Row("0.2 a generation under a sawtooth of 10", "leak",
        noisy(plus(teeth(10, _twelve), linear(0.2))), shortest=40, asked=100),
    Row("0.2 a generation under an uneven sawtooth of 10", "leak",
        noisy(plus(uneven_teeth(0.83), linear(0.2))), shortest=40, asked=300),
    Row("0.5 a generation under a sawtooth of 100", "leak",
        noisy(plus(teeth(100, _twelve), linear(0.5))), shortest=40, asked=100),
    Row("1 a generation under flushes (counts)", "leak",
        lambda rng, n: uneven_teeth(4, 6, 9)(rng, n) + np.arange(n), counts=True, shortest=40,
        asked=100),
    Row("3 every 10th generation", "leak", noisy(every(_to(10, 10), 3)), shortest=60, asked=100),
    Row("10 every 10th generation", "leak", noisy(every(_to(10, 10), 10)), shortest=60, asked=100),
    Row("1 every 2nd to 5th generation (counts)", "leak", every(_to(2, 5), 1), counts=True,
        shortest=20, asked=30),
    Row("16 every 6th to 10th generation (counts)", "leak", every(_to(6, 10), 16), counts=True,
        shortest=50, asked=60),
    Row("accelerating to 0.6 a generation", "leak", noisy(accelerating(0.3)), shortest=20,
        asked=100),
    Row("16 a generation (counts)", "leak", linear(16), counts=True, asked=4),
    Row("1 a generation (counts)", "leak", linear(1), counts=True, asked=5),
    Row("2 a generation beside turnover (counts)", "leak",
        lambda rng, n: turnover(rng, n) + 2 * np.arange(n), counts=True, asked=40),
)  # fmt: skip

ROWS = (*NOISE, *CURVES, *STEPS, *FILLS, *TEETH, *LEAKS)
