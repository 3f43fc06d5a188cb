"""Whether a test keeps its budget: nothing of before it counts, and no name is pytest's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from leakguard.analysis import diagnose
from leakguard.analysis.budget import check, confirmed_growth
from leakguard.integrations.pytest_plugin.older import Older
from leakguard.integrations.pytest_plugin.settings import BudgetSettings
from leakguard.model import Finding, Report, Run
from leakguard.model.budget import Budget, Check

# Where pytest keeps the value of a fixture: among a test's arguments, or with its definition.
_OF_FIXTURE = re.compile(
    r"_?(?:pytest|pluggy)\b.*?"
    r"(?:\.funcargs\['(?P<name>\w+)'\]|_arg2fixturedefs\['(?P<cached>\w+)'\].*?\.cached_result\[0\])"
)
_KEEPS_FIXTURES = (".funcargs ", ".cached_result ")
_RUNNERS = ("_pytest/", "pluggy/", "leakguard/integrations/")
_ALLOCATOR = frozenset({"native", "memory", "fragmentation", "peak"})
_NO_OBJECTS = "No leak: no object grows; another tool recorded allocations, so bytes say nothing."


@dataclass(frozen=True, slots=True)
class Judgement:
    """One look at the rounds so far: the diagnosis and every limit."""

    report: Report
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The limits that were broken, or that nothing was measured for."""
        return tuple(check for check in self.checks if check.outcome != "kept")

    @property
    def doubtful(self) -> bool:
        """True when more rounds may say something else."""
        return bool(self.failed) or self.report.verdict in ("suspect", "inconclusive")


def judge(
    run: Run,
    settings: BudgetSettings,
    first: int,
    older: Mapping[str, Older],
    *,
    traced: bool = False,
) -> Judgement:
    """Hold the generations from number ``first`` on against the settings.

    The diagnosis sees the whole run. Earlier rounds are warm-up. ``older`` are the instances that
    were alive before the test began, by the names in the budget. ``traced`` says that another tool
    records allocations meanwhile: its records are in the allocator, so only counted objects decide.
    """
    report = _of_tests(diagnose(run))
    report = _of_objects(report) if traced else report
    warmup = settings.budget.warmup if first == 1 else 0
    window = replace(report, run=_since(run, first))
    budget = replace(settings.budget, growth=None, warmup=warmup)
    checks = [_without_older(one, window, budget, older) for one in check(window, budget)]
    if (most := settings.budget.growth) is not None:
        rounds = settings.counted if settings.per == "test" else None
        checks.append(confirmed_growth(window, most, warmup, rounds=rounds, traced=traced))
    return Judgement(report, tuple(checks))


def _of_tests(report: Report) -> Report:
    """Leave out what is pytest's: its frames, its names of fixtures. A test does not go on."""
    findings = tuple(
        replace(_by_fixture(found), forecast=None, created_stack=_own_frames(found.created_stack))
        for found in report.findings
    )
    headline = report.headline
    for ours, theirs in zip(findings, report.findings, strict=True):
        headline = headline.replace(theirs.held_by or "\0", ours.held_by or "")
    return replace(report, findings=findings, headline=headline)


def _by_fixture(found: Finding) -> Finding:
    """Name the fixture that holds something, instead of the way that pytest keeps fixtures."""
    held_by = found.held_by or ""
    kept = _OF_FIXTURE.match(held_by)
    if kept is None:
        return found
    fixture = f"fixture {kept['name'] or kept['cached']}"
    told = fixture + held_by[kept.end() :]
    return replace(
        found,
        held_by=told,
        reason=found.reason.replace(held_by, told),
        fix=(found.fix or "").replace(held_by, told) or None,
        path=_from_fixture(found.path, fixture),
    )


def _from_fixture(path: tuple[str, ...], fixture: str) -> tuple[str, ...]:
    """Begin a way at the fixture's value."""
    at = next((i + 1 for i, hop in enumerate(path[:-1]) if hop.startswith(_KEEPS_FIXTURES)), None)
    if at is None:
        return path
    return (f"{fixture}  {path[at].partition('  ')[2]}", *path[at + 1 :])


def _own_frames(stack: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(takewhile(lambda frame: not frame.startswith(_RUNNERS), stack))


def _of_objects(report: Report) -> Report:
    """Leave out what only the allocator or RSS says."""
    kept = tuple(finding for finding in report.findings if finding.kind not in _ALLOCATOR)
    if len(kept) == len(report.findings):
        return report
    if kept:
        return replace(report, findings=kept, verdict=kept[0].verdict)
    return replace(report, findings=(), verdict="stable", headline=_NO_OBJECTS)


def _since(run: Run, first: int) -> Run:
    if first == 1:
        return run
    shots = tuple(s for s in run.snapshots if s.generation is not None and s.generation >= first)
    return replace(run, snapshots=shots)


def _without_older(
    broken: Check, report: Report, budget: Budget, older: Mapping[str, Older]
) -> Check:
    """Judge a count again without the instances of before the test."""
    name = broken.subject.removeprefix("live ")
    before = older.get(name)
    if broken.outcome != "broken" or name not in budget.constant or not (before and before.count):
        return broken
    low, high = budget.constant[name]
    # Those of other tests may go while this one runs.
    shifted = Budget(verdict="never", constant={name: (low, high + before.count)})
    (again,) = check(report, shifted)
    return replace(again, limit=broken.limit, fact=f"{again.fact}, {before}")
