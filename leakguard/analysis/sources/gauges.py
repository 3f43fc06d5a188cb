"""Gauges, which the user reports: filling to a capacity is healthy, growth without one is not."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.facts.fix import BoundGauge
from leakguard.analysis.facts.measured import GaugeGrows
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.timeline import gauge_reader


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
        evidence=(Evidence("gauge", GaugeGrows(name, verdict.rate, capacity if past else None)),),
        confidence=verdict.confidence,
        fix=BoundGauge(name),
    )


def _capacity(case: Case, name: str) -> float | None:
    latest = (s.gauges[name].capacity for s in reversed(case.run.snapshots) if name in s.gauges)
    return next(latest, None)
