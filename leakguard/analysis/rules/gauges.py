"""Numbers the user reports: filling towards a capacity is healthy, growing without one is not."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.growing_container import GrowingContainer
from leakguard.analysis.series import SeriesVerdict, judge_series
from leakguard.analysis.timeline import gauge_reader
from leakguard.model import Cleared, Finding
from leakguard.model.series import Series
from leakguard.model.units import format_number

_SAME = 0.02  # of a number, for a gauge to report the same thing


def gauges(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Clear gauges that fill to their capacity; suspect those that grow without one."""
    names = dict.fromkeys(name for s in case.run.snapshots for name in s.gauges)
    judged = (_judge(case, name) for name in names)
    return [outcome for outcome in judged if outcome is not None]


def filling_gauges(case: Case, found: Sequence[Finding | Cleared]) -> list[Series]:
    """Return the series of the gauges that were cleared as filling."""
    names = {name for snapshot in case.run.snapshots for name in snapshot.gauges}
    cleared = (c for c in found if isinstance(c, Cleared) and c.pattern == "filling")
    return [
        case.timeline.best_series(c.metric, gauge_reader(c.metric))
        for c in cleared
        if c.metric in names
    ]


def is_gauged(container: GrowingContainer, filling: Sequence[Series]) -> bool:
    """True when a gauge reports the entries of this very container, as at its last look."""
    generation, entries = container.generations[-1], container.entries[-1]
    return any(abs(_at(gauge, generation) - entries) <= _SAME * entries for gauge in filling)


def _at(gauge: Series, generation: int) -> float:
    """Return what a gauge said in a generation, or last."""
    values = dict(zip(gauge.generations, gauge.values, strict=True))
    return values.get(generation, gauge.values[-1])


def _judge(case: Case, name: str) -> Finding | Cleared | None:
    series = case.timeline.best_series(name, gauge_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    capacity = _capacity(case, name)
    verdict = judge_series(series.values, integer=True, capacity=capacity)
    if capacity is not None and series.values[-1] <= capacity:
        return _filling(name, series, capacity, verdict)
    judged = Judged(series, verdict)
    return _finding(name, judged, capacity) if judged.grows else None


def _filling(name: str, series: Series, capacity: float, verdict: SeriesVerdict) -> Cleared:
    filled = f"{series.values[-1]:,.0f} of {capacity:,.0f}"
    if verdict.plateau is None or verdict.plateau.round is None:
        return Cleared(name, "filling", f"{name} fills towards its capacity: {filled}", capacity)
    full = generation_of(series, verdict.plateau.round)
    reason = f"{name} fills until generation {full}, then stays: {filled}"
    return Cleared(name, "filling", reason, capacity, full)


def generation_of(series: Series, round_: int) -> int:
    """Return the generation of a round of a series, which may lie beyond its end."""
    beyond = round_ - (len(series) - 1)
    return series.generations[-1] + beyond if beyond > 0 else series.generations[round_]


def _finding(name: str, judged: Judged, capacity: float | None) -> Finding:
    rate = judged.verdict.rate
    limit = "it has no capacity" if capacity is None else f"it is past its capacity {capacity:,.0f}"
    return Finding(
        fingerprint=fingerprint("queue", name),
        kind="queue",
        verdict="suspect" if capacity is None else "leak",
        pattern="growing",
        reason=f"{name} grows by {format_number(rate)} a generation and {limit}",
        started_at=judged.started_at,
        type=name,
        counts=tuple(map(int, judged.series.values)),
        count_per_generation=rate,
        interval=judged.verdict.interval,
        confidence=judged.verdict.confidence,
        fix=f"bound {name}: make the producer wait, or drop or merge what is pending",
    )


def _capacity(case: Case, name: str) -> float | None:
    latest = (s.gauges[name].capacity for s in reversed(case.run.snapshots) if name in s.gauges)
    return next(latest, None)
