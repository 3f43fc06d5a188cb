"""Decides which generations and phases are measured, so that measuring keeps to its price."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from leakguard.live.meter import CostMeter

#: Seconds that measuring may take in any run at once, so that the first generations are measured.
#: Measured: 1 ms for a generation with two phases, so they pay for the first 50.
MEASURED_SECONDS = 0.05
# While less than ``_EARLY_SECONDS`` are spent, measuring may take the share ``_EARLY_SHARE`` of the
# program's time: a run of a few seconds has some hundred measured generations all over it. Measured
# on 631 recorded runs, with generations left out of them: at 0.1 s, three leaks, two holders and
# five phases are lost; at none, 18 leaks, 31 holders and 28 lines.
_EARLY_SHARE, _EARLY_SECONDS = 0.05, 0.3
# Share of ``max_overhead`` that measuring may take later; looks share the rest (``purse``).
# Chosen: half of what both may take together.
_SHARE = 0.3


class Numbers:
    """Counts what measuring costs, and decides what is measured next.

    Once ``MEASURED_SECONDS`` are spent, a generation is measured when the program has run long
    enough to pay for it. In between, generations are passed over: they are counted, and births are
    recorded as ever.
    """

    def __init__(
        self, max_overhead: float | None, meter: CostMeter, chance: random.Random | None = None
    ) -> None:
        """``max_overhead`` is a share of the run's time (0.01 is 1 %); None measures everything."""
        self._share = None if max_overhead is None else _SHARE * max_overhead
        self._meter = meter
        self._chance = chance or random.Random(0)
        self._spent = 0.0
        self._ahead = 0.0
        self._told = 0.0

    def add(self, seconds: float) -> None:
        """Count what measuring the end of a generation took."""
        self._spent += seconds

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Count what is spent inside the block."""
        before = self._meter.spent
        try:
            yield
        finally:
            self.add(self._meter.spent - before)

    def choose(self) -> None:
        """Choose when the next generation is due, after one that was measured.

        The moment varies, so that what a program does in every tenth generation is met.
        """
        cost, self._told = self._spent - self._told, self._spent
        self._ahead = cost * self._chance.random()

    def are_due(self) -> bool:
        """Return whether the program has run long enough to pay for the next measurement."""
        if self._share is None:
            return True
        needed, meter = self._spent + self._ahead, self._meter
        # The program's time is cheaper to read than its work, and not less.
        if needed > self._allowed(meter.program):
            return False
        return needed <= MEASURED_SECONDS or needed <= self._allowed(meter.program_worked)

    def _allowed(self, seconds: float) -> float:
        early = min(_EARLY_SHARE * seconds, _EARLY_SECONDS)
        return MEASURED_SECONDS + early + (self._share or 0.0) * seconds
