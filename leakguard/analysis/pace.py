"""What growth comes to in a day, at the pace at which the run's generations followed each other."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.tolerance import MATERIAL_A_DAY
from leakguard.model.units import DAY


def daily(case: Case, rate: float) -> float | None:
    """Return what a growth comes to in a day at the pace of the run; None where that is unknown."""
    ends = [s for s in case.timeline.ends.values() if s.seconds is not None]
    if len(ends) < 2:
        return None
    took = (ends[-1].seconds or 0.0) - (ends[0].seconds or 0.0)
    passed = (ends[-1].generation or 0) - (ends[0].generation or 0)
    return rate * passed * DAY / took if took > 0 else None


def adds_up(case: Case, rate: float) -> bool:
    """Return whether a growth comes to much in a day, however little a generation adds."""
    return (daily(case, rate) or 0.0) >= MATERIAL_A_DAY
