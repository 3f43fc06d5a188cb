"""The shortest report: verdict, fix, holder, line, and what the run file lacks.

This module imports only the wording, so that a watched program can afford it at its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.render import facts, outline
from leakguard.render.text import clean, wrapped

_TOLD = ("Fix", "Held by", "Created at", "Kept at")
_OTHERS = 3


def paragraphs(report: Report) -> Iterator[str]:
    """Yield how it died, the verdict, the fix of the worst finding, and where the others are.

    If the file does not hold the whole run, a paragraph says so: the verdict is about what was
    read.
    """
    yield from filter(None, [outline.death(report)])
    yield outline.verdict_line(report)
    yield from filter(None, [outline.explained(report)])
    if report.death is None or not report.death.of_memory:
        yield from missing(report.run)
    if report.findings:
        told = {fact.label: fact.value for fact in facts.leak_facts(report.findings[0])}
        yield from (f"{label}: {told[label]}" for label in _TOLD if label in told)
    others = report.findings[1:]
    for finding in others[:_OTHERS]:
        yield f"Also {finding.verdict}: {facts.title(finding)}{_where(finding)}"
    if len(others) > _OTHERS:
        yield f"And {len(others) - _OTHERS} more"


def _where(finding: Finding) -> str:
    """Return who holds what grows and which line makes it, as far as they are known."""
    held_by = finding.holder_name or finding.held_by
    holder = f", held by {clean(held_by)}" if held_by else ""
    line = f", made at {clean(finding.created_at)}" if finding.created_at else ""
    return f"{holder}{line}"


def missing(run: Run) -> Iterator[str]:
    """Yield what a run file lacks: its end, and the lines that could not be read."""
    if run.is_part:
        last = run.generations[-1] if run.generations else None
        until = "before a generation was recorded" if last is None else f"with generation {last}"
        yield f"Incomplete run: the file ends {until}; the run still goes on, or was cut off there"
    yield from (clean(note) for note in run.notes)


def brief(report: Report, width: int = 80) -> str:
    """Return the paragraphs wrapped at ``width`` columns; those after the verdict are indented."""
    verdict, *details = paragraphs(report)
    lines = wrapped(f"leakguard: {verdict}", width)
    for detail in details:
        lines += wrapped(detail, width, "  ", "    ")
    return "\n".join(lines)
