"""Values at generations that lie any distance apart, and verdicts about them in generations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.series.verdict import SeriesVerdict


class Spacing:
    """The generations at which a series was looked at.

    Attributes:
        step: mean distance between two looks, in generations.
        is_even: True when every distance is the same.
    """

    def __init__(self, at: Sequence[float]) -> None:
        self._order = sorted(range(len(at)), key=at.__getitem__)
        self._at = [float(at[i]) for i in self._order]
        gaps = [b - a for a, b in pairwise(self._at)]
        if not all(map(math.isfinite, self._at)) or min(gaps, default=1.0) <= 0.0:
            raise ValueError("generations are not finite or not different: give each value its own")
        self.step = (self._at[-1] - self._at[0]) / len(gaps) if gaps else 1.0
        self.is_even = max(gaps, default=1.0) == min(gaps, default=1.0)

    def evenly(self, values: Sequence[float]) -> list[float]:
        """Return the values at as many even distances, on straight lines between the looks."""
        if len(values) != len(self._at):
            raise ValueError(f"{len(values)} values at {len(self._at)} generations: give one each")
        ordered = [float(values[i]) for i in self._order]
        if self.is_even:
            return ordered
        return [self._between(ordered, i) for i in range(len(ordered))]

    def _between(self, values: Sequence[float], index: int) -> float:
        place = self._at[0] + index * self.step
        after = next((i for i, at in enumerate(self._at) if at >= place), len(self._at) - 1)
        before = max(after - 1, 0)
        if after == before or self._at[after] == place:
            return values[after]
        share = (place - self._at[before]) / (self._at[after] - self._at[before])
        return values[before] + min(1.0, share) * (values[after] - values[before])

    def in_generations(self, verdict: SeriesVerdict) -> SeriesVerdict:
        """Return a verdict on the even values as one on the generations."""
        step, plateau = self.step, verdict.plateau
        if plateau is not None and plateau.round is not None:
            plateau = replace(plateau, round=self._generation(plateau.round))
        more = verdict.more_rounds
        return replace(
            verdict,
            rate=verdict.rate / step,
            interval=(verdict.interval[0] / step, verdict.interval[1] / step),
            started=None if verdict.started is None else self._first_look(verdict.started),
            plateau=plateau,
            detectable=verdict.detectable / step,
            more_rounds=None if more is None else math.ceil(more * step),
        )

    def _first_look(self, index: int) -> int:
        """Return the first look after the place of the value before: it may show what began."""
        before = self._at[0] + (index - 1) * self.step
        return math.ceil(next(at for at in self._at if at > before))

    def _generation(self, index: int) -> int:
        return math.ceil(self._at[0] + index * self.step)
