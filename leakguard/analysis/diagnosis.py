"""From a run to a report: collect growth, decide which growth explains which, name the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from leakguard.analysis import rss_ledger
from leakguard.analysis.at_levels import with_levels
from leakguard.analysis.balance import is_trifle
from leakguard.analysis.case import Case
from leakguard.analysis.death import death_of
from leakguard.analysis.facts.doubt import Doubt
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.forecast import run_forecast
from leakguard.analysis.limits import undecided, unseen
from leakguard.analysis.naming import named
from leakguard.analysis.sensitivity import least_told
from leakguard.analysis.settlement import settle
from leakguard.analysis.sources import growths
from leakguard.analysis.spacing import evenly_spaced
from leakguard.analysis.trend import growth, trend
from leakguard.analysis.words.cleared import cleared
from leakguard.analysis.words.headline import calm_headline, headline, undecided_headline
from leakguard.analysis.words.limits import limits
from leakguard.model import Finding, Report, Run, Verdict
from leakguard.model.balance import Balance
from leakguard.model.finding import SEVERITY, Ignored


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """The verdict on a run, with what it rests on."""

    case: Case
    harmless: Sequence[Harmless]
    balance: Balance | None
    findings: list[Finding]
    ignored: list[Ignored]
    doubt: Doubt | None
    verdict: Verdict


def diagnose(run: Run) -> Report:
    """Return what grows in ``run``, since when and in which phase, and whether it is a leak.

    Pure: the same run always gives the same report, wherever it was read from.
    """
    end = _concluded(run)
    least = least_told(end.case)
    return Report(
        run=run,
        verdict=end.verdict,
        headline=_headline(end, least),
        findings=tuple(end.findings),
        cleared=tuple(map(cleared, end.harmless)),
        ignored=tuple(end.ignored),
        ledger=rss_ledger.ledger(run),
        ledger_history=rss_ledger.ledger_history(run),
        forecast=run_forecast(end.case, end.findings),
        coverage=next((s.coverage for s in reversed(run.snapshots) if s.coverage), None),
        trend=trend(run),
        growth=growth(run),
        phase_growth=_phase_growth(end.case, end.verdict),
        balance=end.balance,
        limits=limits(unseen(end.case, end.doubt, least)),
        death=death_of(run),
    )


def diagnose_briefly(run: Run) -> Report:
    """Return the report of `diagnose` with the verdict and the findings alone, in less time."""
    end = _concluded(run)
    return Report(run, end.verdict, headline="", findings=tuple(end.findings))


def _concluded(run: Run) -> _Conclusion:
    case = Case(evenly_spaced(run), whole=run)
    ledger = settle(case, growths(case))
    found = [named(case, row) for row in ledger.rows]
    found, harmless = with_levels(run, case, found, tuple(ledger.cleared))
    found.sort(key=_rank)
    findings, ignored = split_ignored(found, run.info.ignore)
    doubt = undecided(case, harmless, found)
    return _Conclusion(
        case, harmless, ledger.balance, findings, ignored, doubt, _verdict(findings, doubt)
    )


def _phase_growth(case: Case, verdict: Verdict) -> dict[str, float]:
    """Return the growth per generation of each phase, in bytes.

    For a stable run only the second half counts: warm-up and filling are over by then.
    """
    generations = case.run.generations
    settled = generations[len(generations) // 2] if verdict == "stable" else None
    parts = case.memory_share(settled).by_phase
    return {phase or "(between phases)": value for phase, value in parts.items()}


def _rank(finding: Finding) -> tuple[int, bool, float, float]:
    """Order by verdict, the program's own rows before those of libraries, then by size."""
    return (
        -SEVERITY[finding.verdict],
        finding.library is not None,
        -(finding.bytes_per_generation or 0.0),
        -(finding.count_per_generation or 0.0),
    )


def _verdict(findings: Sequence[Finding], doubt: Doubt | None) -> Verdict:
    if findings and findings[0].verdict in ("leak", "suspect"):
        return findings[0].verdict
    return "stable" if doubt is None else "inconclusive"


def _headline(end: _Conclusion, least: float | None) -> str:
    if end.findings and end.verdict in ("leak", "suspect"):
        return headline(end.findings[0])
    if end.doubt is not None:
        return undecided_headline(end.doubt)
    return calm_headline(end.case.generations, _trifle(end), least)


def _trifle(end: _Conclusion) -> tuple[str, Balance] | None:
    """Return the metric and the growth of live memory that is too little to matter, if it grows."""
    memory, balance = end.case.memory(), end.balance
    if memory is None or balance is None or not any(is_trifle(c, memory) for c in end.harmless):
        return None
    return memory.series.name, balance


def split_ignored(
    findings: Iterable[Finding], patterns: Sequence[str]
) -> tuple[list[Finding], list[Ignored]]:
    """Return the findings to report, and the findings that the user's patterns ignore."""
    wanted, ignored = [], []
    for finding in findings:
        pattern = next((p for p in patterns if matches(finding, p)), None)
        if pattern is None:
            wanted.append(finding)
        else:
            ignored.append(Ignored(finding, pattern))
    return wanted, ignored


def matches(finding: Finding, pattern: str) -> bool:
    """Return whether a pattern matches the finding's fingerprint, type or holder (``fnmatch``).

    ``[*]`` in a pattern is no wildcard: it matches only the ``[*]`` in the path of a holder.
    """
    literal = pattern.replace("[*]", "[[][*]]")
    names = (finding.fingerprint, finding.type, finding.held_by)
    return any(name is not None and fnmatchcase(name, literal) for name in names)
