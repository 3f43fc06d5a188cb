"""Decides from two runs what a change did: to the growth, and to the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from leakguard.analysis.measure import live_growth
from leakguard.fixing.edit import Edit
from leakguard.model.finding import Finding
from leakguard.model.metric import METRICS
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.model.tried_fix import FixOutcome, TriedFix
from leakguard.model.units import format_bytes

# Chosen: a finding that is gone while a third of its bytes is still gained only has another name.
_GONE = 0.7
# Chosen: less than a fifth of a rate is within what two runs of one program differ by.
_LESS = 0.2
# A run with fewer generations than this share of the other is too short to compare.
_SHORTEST_SHARE = 0.6


@dataclass(frozen=True)
class Played:
    """A run of the user's command, to its end or until it was stopped.

    Attributes:
        report: the diagnosis of the run; None if it recorded none.
        status: the exit status; None if the command was stopped.
        lines: what it printed on standard output.
        complaint: the last line on standard error, for a command that failed.
    """

    report: Report | None
    status: int | None
    lines: tuple[str, ...] = ()
    complaint: str = ""


def matched(finding: Finding, report: Report) -> Finding | None:
    """Return the same finding in another run: by fingerprint, holder, or made type."""
    for same in (_same_defect, _same_holder, _same_origin):
        for other in report.findings:
            if same(finding, other):
                return other
    return None


def judged(
    edit: Edit, finding: Finding, before: Played, after: Played, volatile: frozenset[int] | None
) -> TriedFix:
    """Return what an edit did.

    Args:
        edit: the change.
        finding: the finding as the run without the change reports it.
        before: the run without the change.
        after: the run with it.
        volatile: the printed lines that differ from run to run also without the change; None if
            the whole output does, so that it cannot be compared.
    """
    assert before.report is not None
    report = after.report
    unit = "objects" if finding.bytes_per_generation is None else "bytes"
    rate, left = _rate(finding, unit), None
    broken = _broken(before, after, volatile)
    outcome: FixOutcome = "broke"
    reason = broken or ""
    if report is not None:
        again = matched(finding, report)
        left = 0.0 if again is None else _rate(again, unit)
        verdict, said = _memory(finding, before.report, report, rate, left)
        outcome = "broke" if broken else verdict
        reason = f"{broken}; {said}" if broken else said
    return TriedFix(
        outcome, reason, edit.template, edit.title, edit.diff, rate, left,
        "objects" if unit == "objects" else "bytes", curve(before.report.run),
        () if report is None else curve(report.run),
    )  # fmt: skip


def curve(run: Run) -> tuple[float, ...]:
    """Return live memory, or RSS where that is unknown, at the end of each generation, in bytes."""
    for metric in ("live_memory", "heap_in_use", "rss"):
        read = METRICS[metric].read
        seen = [value for end in run.generation_ends() if (value := read(end.metrics)) is not None]
        if seen:
            return tuple(map(float, seen))
    return ()


def volatile_lines(one: Sequence[str], other: Sequence[str]) -> frozenset[int] | None:
    """Return the numbers of the lines in which two outputs differ; None if one has more lines."""
    if len(one) != len(other):
        return None
    return frozenset(n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def first_difference(
    before: Played, after: Played, volatile: frozenset[int]
) -> tuple[str, str] | None:
    """Return the first printed lines that differ; None if there are none.

    The output of a run that was stopped is compared as far as it goes.
    """
    stopped = before.status is None or after.status is None
    pairs = zip_longest(before.lines, after.lines)
    for number, (old, new) in enumerate(pairs):
        if stopped and (old is None or new is None):
            return None
        if old != new and number not in volatile:
            return old or "nothing", new or "nothing"
    return None


def _broken(before: Played, after: Played, volatile: frozenset[int] | None) -> str | None:
    """Return how the program behaves differently; None if it does not."""
    both_ended = before.status is not None and after.status is not None
    if both_ended and before.status != after.status:
        said = f" ({after.complaint})" if after.complaint else ""
        return f"it ends with status {after.status}{said}, was {before.status}"
    if after.report is None:
        return "it records no run"
    differs = None if volatile is None else first_difference(before, after, volatile)
    return None if differs is None else f"it prints {differs[1]!r}, was {differs[0]!r}"


def _memory(
    finding: Finding, before: Report, after: Report, rate: float, left: float
) -> tuple[FixOutcome, str]:
    enough = before.run.generation_count * _SHORTEST_SHARE
    if after.run.generation_count < enough:
        return "no", f"the run with it is too short: {after.run.generation_count} generations"
    if left > 0:
        share = 1 - left / rate if rate > 0 else 0.0
        where = finding.holder_name or finding.held_by or finding.type or finding.kind
        if share >= _LESS:
            return "less", f"{where} gains {share:.0%} less"
        return "no", f"{where} grows as before"
    saved = _saved(before, after)
    expected = finding.bytes_per_generation
    unknown = saved is None or not expected
    if unknown and after.verdict == "inconclusive":
        return "no", "the finding is gone, but the run with the change is inconclusive"
    if saved is None or not expected or saved >= _GONE * expected:
        return "fixed", f"the finding is gone, and the run with the change is {after.verdict}"
    if saved >= _LESS * expected:
        return "less", f"the finding is gone, but only {saved / expected:.0%} of its growth is"
    return "no", f"live memory still grows, by {format_bytes(expected - saved)} per generation"


def _saved(before: Report, after: Report) -> float | None:
    """Return the bytes per generation that live memory gains less; None if that is unknown."""
    old, new = live_growth(before.run), live_growth(after.run)
    if old.value is None or new.value is None or old.metric != new.metric:
        return None
    return old.value - new.value


def _rate(finding: Finding, unit: str) -> float:
    value = finding.bytes_per_generation if unit == "bytes" else finding.count_per_generation
    return value or 0.0


def _same_defect(one: Finding, other: Finding) -> bool:
    return one.fingerprint == other.fingerprint


def _same_holder(one: Finding, other: Finding) -> bool:
    return one.held_by is not None and one.held_by == other.held_by


def _same_origin(one: Finding, other: Finding) -> bool:
    """Return whether two findings are of one type of the program, wherever it is held now."""
    is_own = one.type is not None and "." in one.type
    return is_own and one.type == other.type and other.verdict in ("leak", "suspect")
