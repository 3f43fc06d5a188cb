"""Checks a run against a budget. Live bytes and counts decide; RSS only if they are missing.

In a test RSS alone never decides: two measurements must show the growth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leakguard.analysis.measure import Rate, growths, highest_rss, live_growth, metric_growth
from leakguard.analysis.tolerance import MAJORITY
from leakguard.analysis.words import budget as words
from leakguard.model.budget import Budget, Check, Outcome
from leakguard.model.finding import SEVERITY, Finding, Verdict
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.model.units import format_bytes

_CONFIRM_ONLY = frozenset({"rss", "rss_anonymous"})


def check(report: Report, budget: Budget) -> tuple[Check, ...]:
    """Return a check for each limit of the budget, the diagnosis first."""
    return tuple(_checks(report, budget))


def _checks(report: Report, budget: Budget) -> Iterator[Check]:
    if budget.verdict != "never":
        yield _verdict(report, budget)
    if budget.growth is not None:
        yield _growth_check(report, budget.growth, live_growth(report.run, budget.warmup))
    if budget.peak is not None:
        yield _peak(report, budget.peak, None)
    for name, expected in budget.constant.items():
        yield _constant(report, name, expected)
    for metric, most in budget.resources.items():
        yield _resource(report, most, metric_growth(report.run, metric, budget.warmup))
    for phase, limits in budget.phases.items():
        if limits.growth is not None:
            yield _phase_growth(report, phase, limits.growth)
        if limits.peak is not None:
            yield _peak(report, limits.peak, phase)


def _verdict(report: Report, budget: Budget) -> Check:
    level: Verdict = "suspect" if budget.verdict == "suspect" else "leak"
    broken = SEVERITY[report.verdict] >= SEVERITY[level]
    culprit = report.findings[0] if broken and report.findings else None
    return Check("diagnosis", words.diagnosis_limit(level), words.diagnosis(report),
                 "broken" if broken else "kept", culprit=culprit)  # fmt: skip


def _growth_check(report: Report, most: int, growth: Rate) -> Check:
    limit, subject = words.at_most(most), words.PER_GENERATION
    if growth.value is None:
        return Check(subject, limit, _unmeasured(growth), "unknown", allowed=most)
    fact = words.growth(growth.value, growth.metric)
    return Check(subject, limit, fact, _outcome(growth.value, most),
                 growth.value, most, culprit=_largest(report, growth.value > most))  # fmt: skip


def confirmed_growth(
    report: Report, most: int, warmup: int, *, rounds: int | None = None, traced: bool = False
) -> Check:
    """Return a check of growth that fails only if a second measurement shows the growth too.

    With ``rounds``, the limit applies to that many generations of a test together. ``traced`` is
    True if another tool records allocations during the run. This changes the allocator's numbers,
    so they can then only confirm growth.
    """
    subject = words.PER_GENERATION if rounds is None else words.PER_TEST
    limit = words.at_most(most)
    rates = growths(report.run, warmup)
    aside = _CONFIRM_ONLY | {"heap_in_use"} if traced else _CONFIRM_ONLY
    leading = [name for name in rates if name not in aside]
    if not leading:
        fact = _unmeasured(metric_growth(report.run, "heap_in_use", warmup))
        return Check(subject, limit, fact, "unknown", allowed=most)
    first = max(leading, key=lambda name: rates[name])
    grown = rates[first] * (rounds or 1)
    second = _second(report, rates, first, most / (rounds or 1) * MAJORITY)
    broken = grown > most and second is not None
    fact = words.confirmed(grown, first, over=grown > most, second=second)
    return Check(subject, limit, fact, "broken" if broken else "kept", grown, most,
                 culprit=_largest(report, broken))  # fmt: skip


def _second(report: Report, rates: Mapping[str, float], first: str, least: float) -> str | None:
    """Return the second measurement that shows the growth; None if there is none."""
    if report.verdict == "leak":
        return "diagnosis"
    return next(
        (name for name, rate in rates.items() if name != first and rate >= least),
        None,
    )


def _unmeasured(growth: Rate) -> str:
    return words.unmeasured(growth.metric, growth.too_few)


def _phase_growth(report: Report, phase: str, most: int) -> Check:
    limit, subject = words.at_most(most), words.PER_GENERATION
    added = report.phase_growth.get(phase)
    if added is None:
        fact = words.no_phase(report.run.phases)
        return Check(subject, limit, fact, "unknown", allowed=most, phase=phase)
    # Other phases may free what this phase makes, so this phase is charged with at most the growth
    # of the whole generation.
    kept = min(added, max(sum(report.phase_growth.values()), 0.0))
    fact = words.phase_growth(kept, added)
    culprit = _largest(report, kept > most, phase)
    return Check(subject, limit, fact, _outcome(kept, most), kept, most, phase, culprit)


def _peak(report: Report, most: int, phase: str | None) -> Check:
    limit = words.at_most(most)
    highest = highest_rss(report.run, phase)
    if highest is None:
        unknown = words.no_peak(phase)
        return Check("peak RSS", limit, unknown, "unknown", allowed=most, phase=phase)
    culprit = _largest(report, highest > most, phase)
    return Check("peak RSS", limit, format_bytes(highest), _outcome(highest, most), highest, most,
                 phase, culprit)  # fmt: skip


def _constant(report: Report, name: str, expected: tuple[int, int]) -> Check:
    low, high = expected
    limit, subject = words.always(low, high), words.live(name)
    known = _qualified(report.run, name)
    seen = [
        (count, snapshot.label)
        for snapshot in report.run.generation_ends()
        if known and (count := snapshot.count(known)) is not None
    ]
    if not seen:
        return Check(subject, limit, words.NOT_COUNTED, "unknown")
    count, label = max(seen, key=lambda item: max(low - item[0], item[0] - high))
    kept = low <= count <= high
    fact = words.counted(count, label)
    culprit = next((f for f in report.findings if f.type == known and not kept), None)
    return Check(subject, limit, fact, "kept" if kept else "broken", count, high,
                 culprit=culprit)  # fmt: skip


def _resource(report: Report, most: float, growth: Rate) -> Check:
    limit, subject = words.at_most_many(most), words.added(growth.metric)
    if growth.value is None:
        return Check(subject, limit, _unmeasured(growth), "unknown", allowed=most)
    kinds = {"threads": "threads", "open_files": "files", "children": "children"}
    culprit = next((f for f in report.findings if f.kind == kinds.get(growth.metric)), None)
    broken = growth.value > most
    return Check(subject, limit, f"{growth.value:+.3g}", _outcome(growth.value, most), growth.value,
                 most, culprit=culprit if broken else None)  # fmt: skip


def _qualified(run: Run, name: str) -> str | None:
    """Return the qualified type for a bare or qualified name in this run; None if unknown."""
    for snapshot in reversed(run.snapshots):
        types: list[str] = [*snapshot.watched]
        types += snapshot.census.types if snapshot.census else ()
        for known in types:
            if known == name or known.rsplit(".", 1)[-1] == name:
                return known
    return None


def _outcome(measured: float, most: float) -> Outcome:
    return "kept" if measured <= most else "broken"


def _largest(report: Report, broken: bool, phase: str | None = None) -> Finding | None:
    """Return the finding to blame for a broken limit: the first, as findings are sorted by size."""
    if not broken:
        return None
    return next((f for f in report.findings if phase is None or f.phase == phase), None)
