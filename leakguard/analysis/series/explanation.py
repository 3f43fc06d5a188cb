"""The explanations of a long series, healthy ones and growth, weighed by an information criterion.

Each explanation is a shape under noise that may wander, scored by -2 log likelihood plus log(n) for
each parameter (BIC, Schwarz 1978). Growth is believed when every healthy explanation scores worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import mul
from typing import Literal

from leakguard.analysis.series.local_level import (
    LAST_GROWTH,
    TAUS,
    WARM_UPS,
    Noise,
    Pair,
    dot,
    noises,
    solve,
)

Kind = Literal[
    "wandering", "step", "two steps", "several steps", "fill", "saturation", "step and saturation",
    "slow saturation", "endless saturation", "growth",
]  # fmt: skip

# Parameters cost more in few rounds, as in the corrected criteria (Hurvich & Tsai 1989).
_FEW = 8.0
# What is left over is never taken for smaller than this share of a series' energy.
_LEAST_NOISE = 1e-6
# Neighbouring time constants of the grid differ by up to this factor; a fine one is this near.
_GRID = 1.7
_FINE = 1.01
_SATURATED = sum(tau <= 0.5 for tau in TAUS)
_SLOW = sum(tau <= 1.0 for tau in TAUS)
_SATURATIONS: tuple[tuple[Kind, int, int], ...] = (
    ("saturation", 0, _SATURATED),
    ("slow saturation", _SATURATED, _SLOW),
    ("endless saturation", _SLOW, len(TAUS)),
)


@dataclass(frozen=True, slots=True)
class Fit:
    """The best fit of one kind of explanation.

    Attributes:
        score: the information criterion; smaller is better.
        noise: the noise model under which it is best.
        variance: of the white noise; of the level's steps for a pure random walk.
        start: round at which growth or a fill starts, or of the first step.
        end: round at which a fill is full, or of the second step.
        tau: time constant of the saturation in it.
    """

    score: float
    noise: Noise
    variance: float
    start: int | None = None
    end: int | None = None
    tau: float | None = None


class Explanations:
    """The best fit of each kind of explanation of one series.

    Args:
        values: the series, 13 to 128 rounds.
        steps: rounds at which the value may have jumped.
        used: parameters that were fitted to the series before.
    """

    def __init__(self, values: Sequence[float], steps: Sequence[int], used: int = 0) -> None:
        basis, models = noises(len(values))
        self.basis = basis
        self.best: dict[Kind, Fit] = {}
        self.coefficients = basis.transform([value - values[0] for value in values])
        self._freedom = basis.n - 1 - used
        self._price = math.log(basis.n) * (1.0 + _FEW / basis.n)
        self._models = models
        self._weighted: list[tuple[list[float], float]] = []
        for noise in models:
            weighted = list(map(mul, noise.weights, self.coefficients))
            energy = dot(weighted, self.coefficients)
            self._weighted.append((weighted, energy))
            along = [dot(weighted, curve) for curve in basis.curves]
            self._offer("wandering", noise, energy, 0.0, 0)
            self._weigh_growth(noise, energy, along)
            self._weigh_saturations(noise, energy, along)
            self._weigh_steps(noise, energy, along, steps, weighted)

    def _offer(
        self,
        kind: Kind,
        noise: Noise,
        energy: float,
        explained: float,
        parameters: int,
        start: int | None = None,
        end: int | None = None,
        tau: float | None = None,
    ) -> float:
        """Keep a fit when it is the best of its kind; return its score."""
        variance = max(energy - explained, _LEAST_NOISE * energy) / self._freedom
        if variance <= 0.0:
            return math.inf
        score = self._freedom * math.log(variance) + noise.log_variance + parameters * self._price
        if kind not in self.best or score < self.best[kind].score:
            self.best[kind] = Fit(score, noise, variance, start, end, tau)
        return score

    def offer_steps(self, steps: Sequence[int]) -> None:
        """Weigh a level that changes at all of these rounds."""
        columns = [self.basis.step(step) for step in steps]
        for noise, (weighted, energy) in zip(self._models, self._weighted, strict=True):
            heavy = [list(map(mul, noise.weights, column)) for column in columns]
            gram = [[dot(one, other) for other in columns] for one in heavy]
            explained = _energy_of_all(gram, [dot(weighted, column) for column in columns])
            latest = steps[-1]
            self._offer("several steps", noise, energy, explained, 2 * len(steps), end=latest)

    def refine(self) -> None:
        """Fit curves between the grid's time constants and rounds as well.

        On a series with little noise the nearest grid point leaves enough over to look like growth.
        """
        for kind, _, _ in _SATURATIONS:
            self._refine_tau(kind)
        self._refine_warm_leak()
        reach = self.basis.n // 32
        while reach:
            fill = self.best["fill"]
            start, end = fill.start or 0, fill.end or 0
            self._offer_fill(start - reach, end)
            self._offer_fill(start + reach, end)
            start = self.best["fill"].start or 0
            self._offer_fill(start, end - reach)
            self._offer_fill(start, end + reach)
            if self.best["fill"] is fill:
                reach //= 2

    def _refine_tau(self, kind: Kind) -> None:
        if kind not in self.best:
            return
        spread, tau = _GRID, self.best[kind].tau
        while tau is not None and spread > _FINE:
            spread = math.sqrt(spread)
            for near in (tau / spread, tau * spread):
                self._offer_saturation(kind, near)
            tau = self.best[kind].tau

    def _refine_warm_leak(self) -> None:
        growth = self.best.get("growth")
        if growth is None or growth.tau is None:
            return
        for start in {0, growth.start or 0}:
            spread, tau = _GRID, growth.tau
            best = self._offer_warm_leak(start, tau)
            while spread > _FINE:
                spread = math.sqrt(spread)
                for near in (tau / spread, tau * spread):
                    score = self._offer_warm_leak(start, near)
                    if score < best:
                        best, tau = score, near

    def _likely(self, kind: Kind) -> list[tuple[Noise, list[float], float]]:
        """Return the noise models to try again: that of the best fit, and that of growth."""
        wanted = {id(self.best[k].noise) for k in (kind, "growth") if k in self.best}
        return [
            (noise, weighted, energy)
            for noise, (weighted, energy) in zip(self._models, self._weighted, strict=True)
            if id(noise) in wanted
        ]

    def _offer_warm_leak(self, start: int, tau: float) -> float:
        """Weigh growth after a warm-up; return its score, infinite where it does not grow."""
        best = math.inf
        if tau > self.basis.taus[WARM_UPS - 1]:
            return best
        ramp, curve = self.basis.ramp(start), self.basis.saturation(tau)
        for noise, weighted, energy in self._likely("growth"):
            heavy, steep = (list(map(mul, noise.weights, shape)) for shape in (curve, ramp))
            pair = solve(0, 0, dot(steep, ramp), dot(heavy, ramp), dot(heavy, curve))
            if pair is None:
                continue
            found = _best_growth((pair,), (dot(weighted, ramp),), (dot(weighted, curve),))
            if found:
                explained, parameters = found[0], 4 if start else 3
                score = self._offer("growth", noise, energy, explained, parameters, start, tau=tau)
                best = min(best, score)
        return best

    def _offer_fill(self, start: int, end: int) -> None:
        if 0 <= start < end - 1 and end <= self.basis.starts[-1]:
            rising = zip(self.basis.ramp(start), self.basis.ramp(end), strict=True)
            curve = [a - b for a, b in rising]
            parameters = 3 if start else 2
            for noise, weighted, energy in self._likely("fill"):
                explained = _worth(noise, weighted, curve)
                self._offer("fill", noise, energy, explained, parameters, start, end)

    def _offer_saturation(self, kind: Kind, tau: float) -> None:
        curve = self.basis.saturation(tau)
        for noise, weighted, energy in self._likely(kind):
            self._offer(kind, noise, energy, _worth(noise, weighted, curve), 2, tau=tau)

    def _weigh_growth(self, noise: Noise, energy: float, along: Sequence[float]) -> None:
        """A line from the first round or a later one, alone or after a warm-up."""
        starts, taus = self.basis.starts, self.basis.taus
        for i in range(LAST_GROWTH):
            if along[i] > 0.0:
                explained = along[i] ** 2 * noise.inverse[i]
                self._offer("growth", noise, energy, explained, 2 if i else 1, starts[i])
        found = _best_growth(noise.warm_leaks, along, along)
        if found:
            explained, i, j = found
            tau = taus[j - len(starts)]
            self._offer("growth", noise, energy, explained, 4 if i else 3, starts[i], tau=tau)

    def _weigh_saturations(self, noise: Noise, energy: float, along: Sequence[float]) -> None:
        """A curve towards a plateau, or a line that ends on one."""
        starts, taus = self.basis.starts, self.basis.taus
        ramps = len(starts)
        worth = [p * p * inverse for p, inverse in zip(along, noise.inverse, strict=True)]
        for kind, first, last in _SATURATIONS:
            i = max(range(ramps + first, ramps + last), key=worth.__getitem__)
            self._offer(kind, noise, energy, worth[i], 2, tau=taus[i - ramps])
        explained, i, j = max(
            ((along[i] - along[j]) ** 2 * inverse, i, j) for i, j, inverse in noise.fills
        )
        self._offer("fill", noise, energy, explained, 3 if i else 2, starts[i], starts[j])

    def _weigh_steps(
        self,
        noise: Noise,
        energy: float,
        along: Sequence[float],
        steps: Sequence[int],
        weighted: Sequence[float],
    ) -> None:
        """One or two steps, or a step beside a saturation or beside growth."""
        starts, taus = self.basis.starts, self.basis.taus
        ramps = len(starts)
        heights = {step: dot(weighted, self.basis.step(step)) for step in steps}
        for step, height in heights.items():
            own, across = noise.step(step)
            self._offer("step", noise, energy, height * height / own, 2, step)
            pairs = [
                solved
                for i in (*range(LAST_GROWTH - 2), *range(ramps, ramps + _SATURATED))
                if (solved := solve(i, i, noise.energy[i], across[i], own))
            ]
            stepped = [height] * len(along)
            calm = [pair for pair in pairs if pair[0] >= ramps]
            explained, i, _ = max(_explained(pair, along, stepped) for pair in calm)
            tau = taus[i - ramps]
            self._offer("step and saturation", noise, energy, explained, 4, step, tau=tau)
            found = _best_growth((p for p in pairs if p[0] < ramps), along, stepped)
            if found:
                explained, i, _ = found
                self._offer("growth", noise, energy, explained, 4 if i else 3, starts[i], step)
        for one, other in combinations(heights, 2):
            both = noise.between(one, other)
            pair = solve(0, 0, noise.step(one)[0], both, noise.step(other)[0])
            if pair:
                explained, _, _ = _explained(pair, (heights[one],), (heights[other],))
                self._offer("two steps", noise, energy, explained, 4, one, other)


def _explained(
    pair: Pair, firsts: Sequence[float], seconds: Sequence[float]
) -> tuple[float, int, int]:
    """Return the energy that two curves explain together, and which they are."""
    i, j, first, both, second = pair
    p, q = firsts[i], seconds[j]
    return p * (p * first + q * both) + q * (p * both + q * second), i, j


def _energy_of_all(gram: list[list[float]], along: list[float]) -> float:
    """Return the energy that several curves explain together (Gaussian elimination)."""
    explained = 0.0
    for k, row in enumerate(gram):
        if row[k] <= 0.0:
            continue
        explained += along[k] ** 2 / row[k]
        for i in range(k + 1, len(gram)):
            share = gram[i][k] / row[k]
            along[i] -= share * along[k]
            gram[i] = [a - share * b for a, b in zip(gram[i], row, strict=True)]
    return explained


def _worth(noise: Noise, weighted: Sequence[float], curve: Sequence[float]) -> float:
    """Return the energy that one curve explains."""
    along = dot(weighted, curve)
    return along * along / dot(map(mul, noise.weights, curve), curve)


def _best_growth(
    pairs: Iterable[Pair], ramps: Sequence[float], others: Sequence[float]
) -> tuple[float, int, int] | None:
    """Return the best of the pairs whose first curve rises; None when none does."""
    best, at = 0.0, None
    for i, j, first, both, second in pairs:
        p, q = ramps[i], others[j]
        rate = p * first + q * both
        if rate > 0.0:
            explained = p * rate + q * (p * both + q * second)
            if explained > best:
                best, at = explained, (i, j)
    return None if at is None else (best, *at)
