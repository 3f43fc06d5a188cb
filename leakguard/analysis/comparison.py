"""Compares two diagnoses, and finds which differences are regressions."""

from __future__ import annotations

from collections.abc import Iterator

from leakguard.analysis.measure import highest_rss, live_growth, metric_growth
from leakguard.analysis.tolerance import MATERIAL_BYTES
from leakguard.analysis.words import budget as words
from leakguard.model.budget import Budget, Check, Outcome
from leakguard.model.comparison import Comparison, Measure
from leakguard.model.finding import SEVERITY, Verdict
from leakguard.model.report import Report
from leakguard.model.units import format_bytes


def compare(before: Report, after: Report) -> Comparison:
    """Return what changed from ``before`` to ``after``; findings are matched by fingerprint."""
    old = {finding.fingerprint: finding for finding in before.findings}
    now = {finding.fingerprint: finding for finding in after.findings}
    return Comparison(
        before=before,
        after=after,
        new=tuple(f for key, f in now.items() if key not in old),
        gone=tuple(f for key, f in old.items() if key not in now),
        stayed=tuple((old[key], f) for key, f in now.items() if key in old),
        measures=_measures(before, after),
        phases=_phases(before, after),
        counts=_count_measures(before, after),
    )


def regressions(comparison: Comparison, budget: Budget) -> tuple[Check, ...]:
    """Return a check for each way in which a run must not be worse than the baseline run."""
    checks = [_new_findings(comparison, budget)] if budget.verdict != "never" else []
    checks += [_not_worse(m, budget.tolerance) for m in comparison.measures if m.unit == "bytes"]
    return tuple(checks)


def _new_findings(comparison: Comparison, budget: Budget) -> Check:
    level: Verdict = "suspect" if budget.verdict == "suspect" else "leak"
    new = [f for f in comparison.new if SEVERITY[f.verdict] >= SEVERITY[level]]
    limit = words.no_new(level)
    if not new:
        return Check("new findings", limit, "none", "kept", 0, 0)
    fact = words.new(new)
    return Check("new findings", limit, fact, "broken", len(new), 0, culprit=new[0])


def _not_worse(measure: Measure, tolerance: float) -> Check:
    subject = words.against_baseline(measure)
    if measure.before is None or measure.after is None:
        return Check(subject, "no worse", words.not_in(measure), "unknown")
    # An immaterial change is no regression, even if it is a large share of a small number.
    allowed = measure.before + max(abs(measure.before) * tolerance, MATERIAL_BYTES)
    limit = words.no_worse(allowed, measure.before)
    outcome: Outcome = "kept" if measure.after <= allowed else "broken"
    return Check(subject, limit, format_bytes(measure.after), outcome, measure.after, allowed)


def _measures(before: Report, after: Report) -> tuple[Measure, ...]:
    growths = [live_growth(report.run) for report in (before, after)]
    if growths[0].metric != growths[1].metric:  # compare like with like
        growths = [metric_growth(report.run, "rss") for report in (before, after)]
    return (
        Measure(words.PER_GENERATION, "bytes", growths[0].value, growths[1].value),
        Measure("peak RSS", "bytes", highest_rss(before.run), highest_rss(after.run)),
        Measure("generations", "count", *(r.run.generation_count for r in (before, after))),
    )


def _phases(before: Report, after: Report) -> tuple[Measure, ...]:
    names = dict.fromkeys((*before.phase_growth, *after.phase_growth))
    return tuple(
        Measure(name, "bytes", before.phase_growth.get(name), after.phase_growth.get(name))
        for name in names
    )


def _count_measures(before: Report, after: Report) -> tuple[Measure, ...]:
    old, now = (dict(_final_counts(report)) for report in (before, after))
    return tuple(
        Measure(name, "count", old.get(name), now.get(name)) for name in dict.fromkeys((*old, *now))
    )


def _final_counts(report: Report) -> Iterator[tuple[str, int]]:
    changes = () if report.growth is None else report.growth.counts
    return ((change.type, change.after) for change in changes)
