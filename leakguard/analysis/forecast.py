"""Forecasts when memory reaches its limit, in generations and seconds, at its rate of growth."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from statistics import median

from leakguard.analysis.case import Case
from leakguard.analysis.tolerance import FURTHEST
from leakguard.model import Finding
from leakguard.model.forecast import Forecast

Interval = tuple[float, float]

_OUTSIDE_RAM = frozenset({"gpu", "peak"})


def run_forecast(case: Case, findings: list[Finding]) -> Forecast | None:
    """Return when all growth together reaches the memory limit; None if nothing grows."""
    growing = [finding for finding in findings if _grows(finding)]
    if not growing:
        return None
    for judged in (case.metric("rss"), case.memory()):
        if judged is not None and judged.grows and judged.series.unit == "bytes":
            return forecast(case, judged.verdict.rate, judged.verdict.interval)
    return forecast(case, max(f.bytes_per_generation or 0.0 for f in growing))


def with_forecast(case: Case, finding: Finding) -> Finding:
    """Return the finding with a forecast of when its growth alone reaches the memory limit."""
    rate = finding.bytes_per_generation
    if rate is None or not _grows(finding):
        return finding
    interval = finding.interval
    # If the bytes per object are unknown, the interval of a finding is in objects. An interval in
    # bytes contains the rate, and any other interval is left out of the forecast.
    of_bytes = interval is not None and interval[0] <= rate <= interval[1]
    return replace(finding, forecast=forecast(case, rate, interval if of_bytes else None))


def forecast(case: Case, rate: float, interval: Interval | None = None) -> Forecast | None:
    """Return when RSS reaches the limit at ``rate`` bytes per generation.

    None if RSS does not grow, if the date is too far ahead, or if the limit, RSS or the generations
    are unknown.
    """
    run = case.run
    limit, generations = run.info.memory_limit, run.generations
    used = next((s.metrics["rss"] for s in reversed(run.snapshots) if "rss" in s.metrics), None)
    if not limit or used is None or not generations or not 0.0 < rate < math.inf:
        return None
    latest, room = generations[-1], max(limit - used, 0)
    rounds = math.ceil(room / rate)
    if rounds > FURTHEST * len(generations):
        return None
    between = None
    if interval is not None and interval[1] > interval[0]:
        low, high = interval
        latest_end = math.ceil(room / low) if low > 0.0 else math.inf
        last = latest + int(latest_end) if latest_end <= FURTHEST * len(generations) else None
        between = (latest + math.ceil(room / high), last)
    pace = _seconds_a_generation(case)
    seconds = None if pace is None else rounds * pace
    return Forecast(rate, int(used), limit, latest + rounds, between, seconds)


def _grows(finding: Finding) -> bool:
    return (
        finding.verdict in ("leak", "suspect")
        and finding.pattern == "growing"
        and finding.kind not in _OUTSIDE_RAM
        and (finding.bytes_per_generation or 0.0) > 0.0
    )


def _seconds_a_generation(case: Case) -> float | None:
    ends = [s for s in case.run.generation_ends() if s.seconds is not None]
    lengths = [
        ((after.seconds or 0.0) - (before.seconds or 0.0))
        / max((after.generation or 0) - (before.generation or 0), 1)
        for before, after in pairwise(ends)
    ]
    return median(lengths) if lengths else None
