"""Threads, files and child processes that are never given back."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.metric_finding import metric_finding
from leakguard.analysis.series import judge_series
from leakguard.analysis.timeline import metric_reader
from leakguard.model import Cleared, Finding
from leakguard.model.finding import Kind
from leakguard.model.units import format_number

_RESOURCES: dict[str, tuple[Kind, str]] = {
    "threads": ("threads", "join or shut down what starts them: executors, loaders, writers"),
    "open_files": ("files", "close what is opened: use `with`, close writers, sockets and pools"),
    "children": ("children", "join or terminate the processes; reuse one pool of workers"),
}

_SAME = 0.1  # of the rate, for objects and resource to be the same leak


def resources(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report each resource whose number grows every generation."""
    return [finding for finding in growing_resources(case) if not _has_holder(finding, found)]


def growing_resources(case: Case) -> list[Finding]:
    """Return a finding for each resource whose number grows, whoever holds its objects."""
    return list(filter(None, (_judge(case, name) for name in _RESOURCES)))


def _has_holder(finding: Finding, found: Sequence[Finding | Cleared]) -> bool:
    """True when the objects behind the resource are named already, with who holds them."""
    rate = finding.count_per_generation or 0.0
    return any(
        isinstance(other, Finding)
        and other.held_by is not None
        and other.phase == finding.phase
        and abs((other.count_per_generation or 0.0) - rate) <= _SAME * rate
        for other in found
    )


def _judge(case: Case, name: str) -> Finding | None:
    series = case.timeline.best_series(name, metric_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    verdict = judge_series(series.values, integer=True)
    if verdict.growing != "yes":
        return None
    kind, fix = _RESOURCES[name]
    return metric_finding(
        case,
        Judged(series, verdict),
        name,
        kind=kind,
        name=(kind,),
        verdict="leak",
        reason=f"{name} grows by {format_number(verdict.rate)} a generation: {verdict.reason}",
        type_name=name,
        fix=fix,
    )
