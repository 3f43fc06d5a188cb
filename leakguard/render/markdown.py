"""The report as Markdown, for pull requests, step summaries and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import leak_block, snapshot_block
from leakguard.render.template import environment
from leakguard.render.text import clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout

MARKS = {"leak": "🔴", "suspect": "🟠", "inconclusive": "🔵", "stable": "🟢"}

_ROWS_IN_TEXT = 60


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return one document; several reports begin with a table, and each has its own top heading."""
    documents = [document(report) for report in reports]
    if len(reports) > 1:
        table = environment().get_template("section.md.j2")
        documents.insert(0, table.render(section=outline.overview(reports)))
    return "\n".join(documents)


def document(report: Report) -> str:
    """Return the Markdown of one report."""
    template = environment().get_template("report.md.j2")
    return template.render(
        mark=MARKS[report.verdict],
        run=outline.title(report),
        verdict=outline.VERDICTS[report.verdict],
        headline=outline.headline(report),
        explained=outline.explained(report),
        died=outline.death(report),
        findings=[_finding_fields(report, finding) for finding in report.findings],
        sections=list(outline.sections(report, _ROWS_IN_TEXT)),
    )


def _finding_fields(report: Report, finding: Finding) -> dict[str, str | None]:
    snapshot = outline.evidence(report, finding)
    return {
        "title": facts.title(finding),
        "fix": finding.fix,
        "block": clean_lines(leak_block(finding, None)),
        "label": snapshot.label if snapshot else None,
        "snapshot": clean_lines(snapshot_block(snapshot, report.run.info.large_object))
        if snapshot
        else None,
    }
