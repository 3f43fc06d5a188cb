"""Decides whether a test keeps its budget.

Objects from before the test do not count, and names of pytest's internals are replaced.
"""

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

# The paths at which pytest keeps a fixture's value: a test's arguments, or the fixture definition.
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
    """The judgement of the rounds so far: the diagnosis, and the check of every limit."""

    report: Report
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[Check, ...]:
        """The limits that are broken, and those for which nothing was measured."""
        return tuple(check for check in self.checks if check.outcome != "kept")

    @property
    def doubtful(self) -> bool:
        """True if more rounds may change the judgement."""
        return bool(self.failed) or self.report.verdict in ("suspect", "inconclusive")


def judge(
    run: Run,
    settings: BudgetSettings,
    first: int,
    older: Mapping[str, Older],
    *,
    traced: bool = False,
) -> Judgement:
    """Check the generations from number ``first`` on against the limits.

    The diagnosis uses the whole run, with earlier rounds as warm-up. ``older`` has the instances
    that were alive before the test began, by the names in the budget. ``traced`` says that another
    tool records allocations during the test. Its records lie in the same allocator, so then only
    counted objects decide.
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
    """Remove pytest's frames, and replace its paths to fixtures by the fixtures' names.

    Forecasts are removed too, because a test does not continue.
    """
    findings = tuple(
        replace(_by_fixture(found), forecast=None, created_stack=_own_frames(found.created_stack))
        for found in report.findings
    )
    headline = report.headline
    for ours, theirs in zip(findings, report.findings, strict=True):
        headline = headline.replace(theirs.held_by or "\0", ours.held_by or "")
    return replace(report, findings=findings, headline=headline)


def _by_fixture(found: Finding) -> Finding:
    """Replace pytest's path to a fixture's value by the name of the fixture."""
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
    """Return the path such that it begins at the fixture's value."""
    at = next((i + 1 for i, hop in enumerate(path[:-1]) if hop.startswith(_KEEPS_FIXTURES)), None)
    if at is None:
        return path
    return (f"{fixture}  {path[at].partition('  ')[2]}", *path[at + 1 :])


def _own_frames(stack: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(takewhile(lambda frame: not frame.startswith(_RUNNERS), stack))


def _of_objects(report: Report) -> Report:
    """Leave out findings that rest only on numbers of the allocator or on RSS."""
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
    """Judge a broken count again, allowing the instances from before the test in addition."""
    name = broken.subject.removeprefix("live ")
    before = older.get(name)
    if broken.outcome != "broken" or name not in budget.constant or not (before and before.count):
        return broken
    low, high = budget.constant[name]
    # The instances from before the test are allowed in addition, so the upper limit rises. The
    # lower limit stays, because these instances may be freed during the test.
    shifted = Budget(verdict="never", constant={name: (low, high + before.count)})
    (again,) = check(report, shifted)
    return replace(again, limit=broken.limit, fact=f"{again.fact}, {before}")
