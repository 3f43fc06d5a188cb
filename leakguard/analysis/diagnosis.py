"""From a run to a report: every rule looks at it, the worst finding is the verdict."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.created_at import with_origin
from leakguard.analysis.forecast import run_forecast, with_forecast
from leakguard.analysis.ignore import split_ignored
from leakguard.analysis.known_leaks import with_library
from leakguard.analysis.ledger import ledger, ledger_history
from leakguard.analysis.limits import limits, undecided
from leakguard.analysis.negligible import without_negligible
from leakguard.analysis.rules import RULES, Found
from leakguard.analysis.trend import growth, trend
from leakguard.model import Cleared, Finding, Report, Run, Verdict
from leakguard.model.finding import SEVERITY
from leakguard.model.units import format_change, format_number


def diagnose(run: Run) -> Report:
    """Say what grows in ``run``, since when and in which phase, and whether it is a leak.

    Pure: the same run gives the same report, wherever it was read from.
    """
    case = Case(run)
    found: list[Found] = []
    for rule in RULES:
        found.extend(rule(case, found))
    found = without_negligible(case, found)
    named = (with_library(item) for item in found if isinstance(item, Finding))
    wanted, ignored = split_ignored(named, run.info.ignore)
    findings = [with_origin(run, finding) for finding in sorted(wanted, key=_rank)]
    doubt = undecided(case)
    verdict = _verdict(findings, doubt)
    return Report(
        run=run,
        verdict=verdict,
        headline=_headline(verdict, findings, doubt, case),
        findings=tuple(with_forecast(case, finding) for finding in findings),
        cleared=tuple(item for item in found if isinstance(item, Cleared)),
        ignored=tuple(ignored),
        ledger=ledger(run),
        ledger_history=ledger_history(run),
        forecast=run_forecast(case, findings),
        coverage=next((s.coverage for s in reversed(run.snapshots) if s.coverage), None),
        trend=trend(run),
        growth=growth(run),
        phase_growth=_phase_growth(case),
        limits=limits(case, doubt),
    )


def _phase_growth(case: Case) -> dict[str, float]:
    memory = case.memory()
    if memory is None:
        return {}
    parts = case.contribution(memory.series.name).by_phase
    return {phase or "(between phases)": value for phase, value in parts.items()}


def _rank(finding: Finding) -> tuple[int, bool, float, float]:
    """Order by verdict, the program's own defects before those of libraries, then by size."""
    return (
        -SEVERITY[finding.verdict],
        finding.library is not None,
        -(finding.bytes_per_generation or 0.0),
        -(finding.count_per_generation or 0.0),
    )


def _verdict(findings: list[Finding], doubt: str | None) -> Verdict:
    if findings and findings[0].verdict in ("leak", "suspect"):
        return findings[0].verdict
    return "stable" if doubt is None else "inconclusive"


def _headline(verdict: Verdict, findings: list[Finding], doubt: str | None, case: Case) -> str:
    if findings and verdict in ("leak", "suspect"):
        return _sentence(findings[0])
    if doubt is not None:
        return f"Cannot tell: {doubt}."
    return f"No leak: nothing grows without bound over {case.generations} generations."


def _sentence(finding: Finding) -> str:
    what = (finding.type or "memory").rsplit(".", 1)[-1]
    parts = [f"In {finding.phase}" if finding.phase else "Every generation"]
    if finding.started_at is not None:
        parts.append(f"since generation {finding.started_at}")
    if finding.count_per_generation is not None:
        parts.append(f"{format_number(finding.count_per_generation)} {what} more each generation")
    else:
        parts.append("memory grows")
    if finding.held_by:
        parts.append(f"held by {finding.held_by}")
    if finding.library:
        parts.append(f"a known leak of {finding.library}")
    if finding.created_at:
        parts.append(f"made at {finding.created_at}")
    if finding.bytes_per_generation:
        parts.append(f"{format_change(finding.bytes_per_generation)} a generation")
    return ", ".join(parts) + "."
