"""Gauges, which the user reports: filling to a capacity is healthy, growth without one is not."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.timeline import gauge_reader
from leakguard.model.units import format_number

_NO_CAPACITY = " and it has no capacity"


def gauges(case: Case) -> list[Growth]:
    """Return the gauges that rise; a gauge below its capacity is filling."""
    names = dict.fromkeys(name for s in case.run.snapshots for name in s.gauges)
    found = (_growing(case, name) for name in names)
    return [growing for growing in found if growing is not None]


def _growing(case: Case, name: str) -> Growth | None:
    series = case.timeline.best_series(name, gauge_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    capacity = _capacity(case, name)
    judged = case.judge(series, integer=True, capacity=capacity)
    verdict, fills = judged.verdict, capacity is not None and series.values[-1] <= capacity
    if not (fills or judged.grows):
        return None
    past = capacity is not None and not fills
    plateau = verdict.plateau if fills else None
    return Growth(
        "gauge",
        name,
        "queue",
        type=name,
        pattern="filling" if fills else "growing",
        rate=verdict.rate,
        interval=verdict.interval,
        since=judged.started_at,
        counts=tuple(map(int, series.values)),
        judged=judged,
        bound=capacity if fills else None,
        full_at=None if plateau is None else plateau.round,
        # A gauge may count anything, so it is a leak only if it exceeds its capacity.
        worst="leak" if past else "suspect",
        evidence=(
            Evidence(
                "gauge",
                f"{name} grows by {format_number(verdict.rate)} per generation"
                + (f", and it is past its capacity {capacity:,.0f}" if past else _NO_CAPACITY),
            ),
        ),
        confidence=verdict.confidence,
        fix=f"bound {name}: make the producer wait, or drop or merge what is pending",
    )


def _capacity(case: Case, name: str) -> float | None:
    latest = (s.gauges[name].capacity for s in reversed(case.run.snapshots) if name in s.gauges)
    return next(latest, None)
