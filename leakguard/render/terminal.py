"""The report for a terminal: the verdict first, plain lines that ``grep`` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import snapshot_block
from leakguard.render.page import Page

if TYPE_CHECKING:
    from leakguard.render import Layout

_COLORS = {"leak": "bold red", "suspect": "bold yellow", "inconclusive": "bold cyan",
           "stable": "bold green"}  # fmt: skip
_TREND_ROWS = 24
_WHOLE_FINDINGS = 4


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the reports one after the other, wrapped at ``layout.width`` columns."""
    page = Page(layout.width, layout.color)
    for index, report in enumerate(reports):
        if index:
            page.rule()
        _write(report, page)
    return page.text()


def _write(report: Report, page: Page) -> None:
    page.line(f"leakguard: {outline.title(report)}", "dim")
    page.prose(outline.verdict_line(report), _COLORS[report.verdict])
    if report.findings:
        _write_culprit(report, report.findings[0], page)
    _write_others(report.findings[1:], page)
    for section in outline.sections(report, _TREND_ROWS):
        page.section(section)


def _write_culprit(report: Report, finding: Finding, page: Page) -> None:
    page.line()
    _write_facts(finding, page)
    snapshot = outline.evidence(report, finding)
    if snapshot is not None:
        page.line()
        page.block(snapshot_block(snapshot))


def _write_others(findings: Sequence[Finding], page: Page) -> None:
    for finding in findings[:_WHOLE_FINDINGS]:
        page.line()
        _write_facts(finding, page)
    rest = findings[_WHOLE_FINDINGS:]
    if rest:
        page.heading(f"{len(rest)} more (the JSON and HTML reports tell all)")
    for finding in rest:
        page.prose(f"- {finding.verdict}: {facts.title(finding)}", indent=2, hang=4)


def _write_facts(finding: Finding, page: Page) -> None:
    page.line(f"{facts.heading(finding)}:", _COLORS[finding.verdict])
    for fact in facts.core_facts(finding):
        page.line(f"- {fact.label}: {fact.value}")
    for fact in facts.deep_facts(finding):
        style = "bold" if fact.label == "Fix" else ""
        page.prose(f"- {fact.label}: {fact.value}".rstrip(), style, hang=2)
        for more in fact.more:
            page.prose(more, indent=4, hang=6)
