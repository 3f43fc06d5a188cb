"""From a run to a report: every rule looks at it, the worst finding is the verdict."""

from __future__ import annotations

from fnmatch import fnmatchcase

from leakguard.analysis.case import Case
from leakguard.analysis.created_at import with_origin
from leakguard.analysis.forecast import run_forecast, with_forecast
from leakguard.analysis.ledger import ledger
from leakguard.analysis.limits import limits, undecided
from leakguard.analysis.rules import RULES, Found
from leakguard.analysis.trend import growth, trend
from leakguard.model import Cleared, Finding, Report, Run, Verdict
from leakguard.model.finding import SEVERITY
from leakguard.model.units import format_change


def diagnose(run: Run) -> Report:
    """Say what grows in ``run``, since when and in which phase, and whether it is a leak.

    Pure: the same run gives the same report, wherever it was read from.
    """
    case = Case(run)
    found: list[Found] = []
    for rule in RULES:
        found.extend(rule(case, found))
    findings = sorted(_wanted(found, run.info.ignore), key=_rank)
    doubt = undecided(case)
    verdict = _verdict(findings, doubt)
    findings = [with_origin(run, finding) for finding in findings]
    return Report(
        run=run,
        verdict=verdict,
        headline=_headline(verdict, findings, doubt, case),
        findings=tuple(with_forecast(case, finding) for finding in findings),
        cleared=tuple(item for item in found if isinstance(item, Cleared)),
        ledger=ledger(run),
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


def _wanted(found: list[Found], ignored: tuple[str, ...]) -> list[Finding]:
    findings = [item for item in found if isinstance(item, Finding)]
    return [f for f in findings if not any(_matches(f, pattern) for pattern in ignored)]


def _matches(finding: Finding, pattern: str) -> bool:
    names = (finding.type, finding.held_by, finding.fingerprint)
    return any(name is not None and fnmatchcase(name, pattern) for name in names)


def _rank(finding: Finding) -> tuple[int, float, float]:
    bytes_rate, count_rate = finding.bytes_per_generation, finding.count_per_generation
    return -SEVERITY[finding.verdict], -(bytes_rate or 0.0), -(count_rate or 0.0)


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
        parts.append(f"{finding.count_per_generation:g} {what} more each generation")
    else:
        parts.append("memory grows")
    if finding.held_by:
        parts.append(f"held by {finding.held_by}")
    if finding.created_at:
        parts.append(f"made at {finding.created_at}")
    if finding.bytes_per_generation:
        parts.append(f"{format_change(finding.bytes_per_generation)} a generation")
    return ", ".join(parts) + "."
