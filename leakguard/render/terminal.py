"""The report for a terminal: the verdict, the fix, then the evidence in lines that grep finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.brief import paragraphs
from leakguard.render.log_block import snapshot_block
from leakguard.render.page import VERDICT_COLORS, Page
from leakguard.render.text import clean

if TYPE_CHECKING:
    from leakguard.render import Layout

_ROWS_ON_SCREEN = 24
_MORE = "--full adds paths, evidence, what was ruled out, trend, ledger and objects"
_WHOLE_FINDINGS = 4
# The short report has the lines of ``facts.core_facts`` for each finding (phase, growth, object,
# start and pattern), and of the further lines only these.
_USUAL_FACTS = frozenset({"Known leak of", "Held by", "Created at", "Kept at", "Fix"})
# Up to this many runs are told one by one, more by bug. Chosen: a person reads ten reports.
_SINGLY = 10
# Of the sections after the findings, the short report has only these.
_USUAL_SECTIONS = ("processes", "cleared", "ignored", "phases", "limits")


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the reports one after the other, wrapped at ``layout.width`` columns.

    Several reports begin with a table, and a report without findings then shows only its verdict.
    Of many runs the table has a line for each bug, and only its worst run is reported.
    """
    page = Page(layout.width, layout.color)
    told: Sequence[Report] = reports
    if len(reports) > 1:
        runs = outline.overview(reports)
        if len(reports) > _SINGLY and layout.detail != "full":
            groups = outline.by_bug(reports)
            runs, told = outline.bugs(reports, groups), [group[0] for group in groups]
        page.line(runs.title, "bold")
        page.table(runs)
    for report in told:
        if len(reports) > 1:
            page.rule()
        short = layout.detail == "brief" or (len(reports) > 1 and not report.findings)
        if short and layout.detail != "full":
            _write_brief(report, page)
        else:
            _write(report, page, layout.detail == "full")
    return page.text()


def _write_brief(report: Report, page: Page) -> None:
    verdict, *details = paragraphs(report)
    page.line(f"leakguard: {outline.title(report)}", "dim")
    page.prose(verdict, VERDICT_COLORS[report.verdict])
    for detail in details:
        page.prose(detail, "bold" if detail.startswith("Fix: ") else "", indent=2, hang=4)


def _write(report: Report, page: Page, full: bool) -> None:
    page.line(f"leakguard: {outline.title(report)}", "dim")
    if (died := outline.death(report)) is not None:
        page.prose(died, "bold", hang=2)
    page.prose(outline.verdict_line(report), VERDICT_COLORS[report.verdict])
    if (explained := outline.explained(report)) is not None:
        page.prose(explained)
    if report.findings:
        _write_culprit(report, report.findings[0], page, full)
    _write_others(report.findings[1:], page, full)
    for section in outline.sections(report, _ROWS_ON_SCREEN):
        if full or section.key in _USUAL_SECTIONS:
            page.section(section)
    if not full:
        page.line()
        page.line(_MORE, "dim")


def _write_culprit(report: Report, finding: Finding, page: Page, full: bool) -> None:
    if finding.fix:
        page.prose(f"Fix: {clean(finding.fix)}", "bold", hang=2)
    page.line()
    _write_facts(finding, page, full, without_fix=True)
    snapshot = outline.evidence(report, finding) if full else None
    if snapshot is not None:
        page.line()
        page.block(snapshot_block(snapshot, report.run.info.large_object))


def _write_others(findings: Sequence[Finding], page: Page, full: bool) -> None:
    for finding in findings[:_WHOLE_FINDINGS]:
        page.line()
        _write_facts(finding, page, full)
    rest = findings[_WHOLE_FINDINGS:]
    if rest:
        page.heading(f"{len(rest)} more (the JSON and HTML reports have all)")
    for finding in rest:
        page.prose(f"- {finding.verdict}: {facts.title(finding)}", indent=2, hang=4)


def _write_facts(finding: Finding, page: Page, full: bool, without_fix: bool = False) -> None:
    """Write a finding: its usual lines, or in full all lines with their further lines."""
    page.line(f"{facts.heading(finding)}:", VERDICT_COLORS[finding.verdict])
    for fact in facts.core_facts(finding):
        page.line(f"- {fact.label}: {fact.value}")
    for fact in facts.deep_facts(finding):
        if (fact.label == "Fix" and without_fix) or not (full or fact.label in _USUAL_FACTS):
            continue
        style = "bold" if fact.label == "Fix" else ""
        page.prose(f"- {fact.label}: {fact.value}".rstrip(), style, hang=2)
        for more in fact.more if full else ():
            page.prose(more, indent=4, hang=6)
