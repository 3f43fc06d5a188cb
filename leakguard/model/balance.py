"""How much of the growth of live memory a report accounts for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Balance:
    """The growth of live memory, and what of it is told; all in bytes a generation.

    Attributes:
        growth: what live memory gains, as far as it is judged to grow or may do so.
        findings: how much of it the findings explain.
        healthy: how much of the remainder is no leak, and said to be none.
        daily: what the growth comes to in a day at the pace of the run; None where that is unknown.
    """

    growth: float
    findings: float = 0.0
    healthy: float = 0.0
    daily: float | None = None

    @property
    def rest(self) -> float:
        """What nothing explains."""
        return self.growth - self.findings - self.healthy
