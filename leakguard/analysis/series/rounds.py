"""The rounds under judgement: values, what counts as exact, and verdicts about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leakguard.analysis.series import noise, theil_sen
from leakguard.analysis.series.verdict import Growing, Plateau, SeriesVerdict, Shape


@dataclass(slots=True)
class Rounds:
    """One value a round, and how exact they are.

    Attributes:
        integer: the values are counts of things: a change of one is real.
        noise_floor: moves of a value below this mean nothing.
        describe: how a value is written in a sentence.
    """

    values: Sequence[float]
    integer: bool
    noise_floor: float
    describe: Callable[[float], str]
    changes: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.changes = noise.differences(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def since(self, first: int) -> Rounds:
        """Return the rounds from ``first`` on."""
        return Rounds(self.values[first:], self.integer, self.noise_floor, self.describe)

    @property
    def span(self) -> float:
        """Largest value minus smallest."""
        return max(self.values, default=0.0) - min(self.values, default=0.0)

    def spread(self) -> float:
        """Return the noise of a single round's value."""
        estimate = noise.round_noise(self.values) if len(self) >= 3 else 0.0
        return min(estimate, self.span)

    def verdict(
        self,
        shape: Shape,
        growing: Growing,
        confidence: float,
        reason: str,
        *,
        since: int | None = None,
        plateau: Plateau | None = None,
        detectable: float = math.inf,
        more_rounds: int | None = None,
        measured: tuple[float, tuple[float, float]] | None = None,
        ruled_out: tuple[str, ...] = (),
    ) -> SeriesVerdict:
        """Return a verdict; ``since`` is the last round before the growth, None without growth.

        ``measured`` is the rate and its interval, where more is known than the values' slopes.
        """
        rate, interval = measured or self.rate(since or 0)
        return SeriesVerdict(
            shape=shape,
            growing=growing,
            rate=rate,
            interval=interval,
            started=None if since is None else since + 1,
            plateau=plateau,
            noise=self.spread(),
            detectable=detectable,
            more_rounds=more_rounds,
            confidence=min(0.99, max(0.01, confidence)),
            reason=reason,
            ruled_out=ruled_out,
        )

    def rate(self, since: int) -> tuple[float, tuple[float, float]]:
        """Return the change per round from round ``since`` on, with its interval."""
        tail = self.values[since:]
        if len(tail) < 2 or self.span == 0.0:
            return 0.0, (0.0, 0.0)
        return theil_sen.rate(tail)
