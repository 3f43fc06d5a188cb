"""How much of the growth of live memory a report accounts for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Balance:
    """The growth of live memory, and how much of it is explained; all in bytes per generation.

    Attributes:
        growth: the growth of live memory, judged to be certain or possible.
        findings: how much of ``growth`` the findings explain.
        healthy: how much of ``growth`` the cleared items explain: it is no leak.
        daily: the growth in bytes per day at the pace of the run; None if the pace is unknown.
    """

    growth: float
    findings: float = 0.0
    healthy: float = 0.0
    daily: float | None = None

    @property
    def rest(self) -> float:
        """The growth that neither findings nor cleared items explain."""
        return self.growth - self.findings - self.healthy
