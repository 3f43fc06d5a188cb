"""A garbage collector that is kept from its work: objects are frozen out of its sight for good."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.fingerprint import fingerprint
from leakguard.analysis.series import judge_series
from leakguard.analysis.timeline import metric_reader
from leakguard.model import Cleared, Finding


def collector(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report gc.freeze() that is called again and again: no frozen cycle is ever collected."""
    series = case.timeline.best_series("gc_frozen", metric_reader("gc_frozen"))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return []
    judged = Judged(series, judge_series(series.values, integer=True))
    return [_finding(case, judged)] if judged.grows else []


def _finding(case: Case, judged: Judged) -> Finding:
    verdict, series = judged.verdict, judged.series
    phase = case.contribution("gc_frozen", judged.started_at).main_phase()
    finding = Finding(
        fingerprint=fingerprint("frozen", phase),
        kind="cycles",
        verdict="suspect",
        pattern="growing",
        reason=f"{verdict.rate:,.0f} more objects a generation are frozen out of the collector's "
        f"sight, {series.values[-1]:,.0f} by now: garbage in cycles among them is never freed",
        phase=phase,
        started_at=judged.started_at,
        counts=tuple(map(int, series.values)),
        count_per_generation=verdict.rate,
        confidence=verdict.confidence,
        fix="call gc.freeze() once, after start-up and a gc.collect(), not in the loop",
    )
    return case.located(finding)


def switched_off(case: Case) -> bool:
    """Return True when the program had automatic collection off at each generation's end."""
    series = case.timeline.best_series("gc_enabled", metric_reader("gc_enabled"))
    return bool(series.values) and not any(series.values)
