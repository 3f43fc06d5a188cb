"""A long series with its explanations weighed: which healthy ones does growth not beat?"""

from __future__ import annotations

import math
from itertools import pairwise

from leakguard.analysis.series import change_point, noise, theil_sen
from leakguard.analysis.series.changes import curvature
from leakguard.analysis.series.explanation import Explanations, Fit, Kind
from leakguard.analysis.series.rounds import Rounds
from leakguard.analysis.series.saturation import partial_slope
from leakguard.analysis.series.sawtooth import Teeth, find_teeth, level_cuts

_LONGEST = 128

# By how much growth must beat a healthy explanation: chosen on the simulated series of the
# benchmark, so that at most one healthy series in a hundred of any row is called a leak.
MARGIN: dict[Kind, float] = {
    "wandering": 6.0,
    "step": 6.0,
    "two steps": 5.0,
    "several steps": 3.0,
    "fill": 0.0,
    "saturation": 3.0,
    "step and saturation": 1.5,
    "slow saturation": 2.5,
    "endless saturation": -2.0,
}
# Likelihoods of few rounds scatter more: this much over the number of rounds is asked on top.
_FEW_ROUNDS = 60.0
_SURE_OF_FEW: tuple[Kind, ...] = ("fill", "slow saturation", "endless saturation")
_CURVES: tuple[Kind, ...] = ("fill", "saturation", "slow saturation", "endless saturation")
# Growth that scores worse than a healthy explanation by this much needs no finer fit.
_BEATEN = -6.0
# A drop takes this share of the whole range, and so many deviations of the usual changes.
_MUCH = 0.25
_BEYOND_NOISE = 5.0
# What is left of an exact sawtooth is rounding.
_EXACT = 1e-6
# So many steps are events; more are a staircase, and a staircase leaks.
_FEW_STEPS = (3, 6)
# Growth slows down when a parabola ends below this share of its first change, by no chance.
_SLOWED = 0.6
_CHANCE = 0.002


class Weighing:
    """The explanations of a long series, and growth among them.

    Attributes:
        values: the series in blocks, without spikes and without teeth.
        block: rounds in a block.
        level: True when nothing is left to explain.
        growth: the best fit of growth; None when nothing rises.
        lead: by how much each healthy explanation scores worse than growth.
        doubts: the healthy explanations that growth does not beat by their margin.
    """

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self.block = -(-len(rounds) // _LONGEST)
        blocks = theil_sen.block_means(rounds.values, self.block)
        self._skipped = len(rounds) - self.block * len(blocks)
        calm = noise.without_spikes(blocks)
        self.teeth: Teeth | None = find_teeth(calm)
        self.values = self.teeth.levelled if self.teeth else calm
        self.level = max(self.values) - min(self.values) <= max(
            rounds.noise_floor, _EXACT * rounds.span
        )
        steps = change_point.candidates(self.values)
        self._explanations = Explanations(self.values, steps, used=1 if self.teeth else 0)
        self.best = self._explanations.best
        self._compare()
        near = all(doubt in _CURVES and self.lead[doubt] > _BEATEN for doubt in self.doubts)
        if self.growth is not None and near:
            self._look_closer()

    def _look_closer(self) -> None:
        self._explanations.refine()
        cuts = level_cuts(self.values)
        if _FEW_STEPS[0] <= len(cuts) <= _FEW_STEPS[1]:
            self._explanations.offer_steps(cuts)
        self._compare()

    def _compare(self) -> None:
        self.growth = self.best.get("growth")
        limit = math.inf if self.growth is None else self.growth.score
        few = _FEW_ROUNDS / len(self.values)
        self.lead = {
            kind: self.best[kind].score - limit - (0.0 if kind in _SURE_OF_FEW else few)
            for kind in MARGIN
            if kind in self.best
        }
        self.doubts = [kind for kind, lead in self.lead.items() if lead <= MARGIN[kind]]

    def round_of(self, block: int) -> int:
        """Return the round at which a block starts."""
        return self._skipped + block * self.block

    def settled(self, growth: Fit) -> int:
        """Return the block from which on nothing but the growth moves the value."""
        n, start = len(self.values), growth.start or 0
        if growth.tau is not None:
            start = max(start, min(math.ceil(4.0 * growth.tau), n // 2))
        if growth.end is not None and growth.end < 0.7 * n:
            start = max(start, growth.end)
        return start

    def grown(self, growth: Fit) -> list[float]:
        """Return the values since they settled, without the warm-up that went before."""
        settled = self.settled(growth)
        if growth.tau is None:
            return self.values[settled:]
        start, tau = growth.start or 0, growth.tau
        ramp = [float(max(0, t - start)) for t in range(len(self.values))]
        warm_up = [-math.exp(-t / tau) for t in range(len(self.values))]
        height = partial_slope(self.values, warm_up, ramp)
        return [v - height * w for v, w in zip(self.values, warm_up, strict=True)][settled:]

    def slows(self, growth: Fit) -> bool:
        """Return True when the growth bends down, though no saturation describes it."""
        first, last, chance = curvature(self.grown(growth))
        return chance < _CHANCE and last < _SLOWED * first

    def new_high(self) -> bool:
        """Return True when the last quarter is above every window of its length before it."""
        n, quarter = len(self.values), len(self.values) // 4
        last = math.fsum(self.values[-quarter:])
        return all(
            math.fsum(self.values[i : i + quarter]) < last for i in range(n - 2 * quarter + 1)
        )

    def outlives_its_drops(self) -> bool:
        """Return True when it rose for twice as long since its last drop as ever before one.

        One drop is no sawtooth yet, and may be the first of one.
        """
        changes = noise.differences(self.values)
        span = max(self.values) - min(self.values)
        least = max(_MUCH * span, _BEYOND_NOISE * noise.mad(changes))
        drops = [0, *(i for i, change in enumerate(changes, 1) if change < -least)]
        longest = max((b - a for a, b in pairwise(drops)), default=0)
        return len(self.values) - drops[-1] >= 2 * longest

    def rate(self, fit: Fit) -> tuple[float, tuple[float, float]]:
        """Return the slope since the series settled, its interval widened for wandering noise."""
        white = 12.0 / len(self.values) ** 3
        widening = math.sqrt(max(1.0, 1.0 / fit.noise.energy[0] / white))
        rate, (low, high) = theil_sen.rate(self.grown(fit), widening)
        return rate / self.block, (low / self.block, high / self.block)

    def detectable(self, fit: Fit, length: int | None = None) -> float:
        """Return the smallest rate that growth could have had and be believed, under a fit's noise.

        Args:
            length: blocks that the series would have; its own when None.
        """
        n = len(self.values)
        needed = math.sqrt(MARGIN["wandering"] + math.log(n))
        scale = 1.0 if length is None else _error_share(fit, n, length)
        return needed * scale * math.sqrt(fit.variance / fit.noise.energy[0]) / self.block


def _error_share(fit: Fit, n: int, length: int) -> float:
    """Return the error of a slope over ``length`` rounds in units of the one over ``n``.

    White noise lets it fall with the power 3/2 of the length, a wandering level with 1/2.
    """
    white = 12.0 / n**3
    wandering = max(0.0, 1.0 / fit.noise.energy[0] - white)
    return math.sqrt((white * (n / length) ** 3 + wandering * n / length) / (white + wandering))
