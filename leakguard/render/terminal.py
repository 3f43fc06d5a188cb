"""The report for a terminal: the verdict first, plain lines that ``grep`` finds."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import snapshot_block
from leakguard.render.text import clean_lines

if TYPE_CHECKING:
    from leakguard.render import Layout

_COLORS = {"leak": "bold red", "suspect": "bold yellow", "inconclusive": "bold cyan",
           "stable": "bold green"}  # fmt: skip
_TREND_ROWS = 24
_BAR = 20


def render(reports: Sequence[Report], layout: Layout) -> str:
    """Return the reports one after the other, wrapped at ``layout.width`` columns."""
    page = _Page(layout.width, layout.color)
    for index, report in enumerate(reports):
        if index:
            page.rule()
        _write(report, page)
    return page.text()


def _write(report: Report, page: _Page) -> None:
    page.line(f"leakguard: {outline.title(report)}", "dim")
    page.prose(outline.verdict_line(report), _COLORS[report.verdict])
    if report.findings:
        _write_culprit(report, report.findings[0], page)
    _write_other_findings(report, page)
    page.bullets("Grew, and is not a leak", _cleared(report))
    _write_trend(report, page)
    _write_shares(page, f"Growth by phase: {outline.phase_total(report)} per generation",
                  outline.phase_growth(report))  # fmt: skip
    _write_shares(page, f"Where the growth of RSS went: {outline.ledger_total(report)}",
                  outline.ledger(report))  # fmt: skip
    _write_counts(report, page)
    page.bullets("What this run could not show", outline.limits(report))
    page.bullets("Notes", outline.notes(report))
    _write_run(report, page)


def _write_culprit(report: Report, finding: Finding, page: _Page) -> None:
    page.line()
    _write_facts(finding, page)
    snapshot = outline.evidence(report, finding)
    if snapshot is not None:
        page.line()
        page.block(snapshot_block(snapshot))


def _write_facts(finding: Finding, page: _Page) -> None:
    page.line(f"{facts.heading(finding)}:", _COLORS[finding.verdict])
    for fact in facts.core_facts(finding):
        page.line(f"- {fact.label}: {fact.value}")
    for fact in facts.deep_facts(finding):
        page.prose(f"- {fact.label}: {fact.value}".rstrip(), hang=2)
        for more in fact.more:
            page.prose(more, indent=4, hang=6)


def _write_other_findings(report: Report, page: _Page) -> None:
    for finding in report.findings[1:]:
        page.line()
        _write_facts(finding, page)


def _write_trend(report: Report, page: _Page) -> None:
    rows = outline.trend(report, _TREND_ROWS)
    if not rows:
        return
    page.heading(f"RSS over the run: {outline.trend_sparkline(report)}".rstrip(": "))
    table = page.table("Label", right=("RAM", "Change"))
    for row in rows:
        if row.skipped:
            table.add_row(f"… {row.skipped:,} more rows", "", "")
        table.add_row(row.label, row.ram, row.change)
    page.print(table)
    growth = outline.growth_line(report)
    if growth:
        page.prose(f"Growth: {growth}", indent=2, hang=4)


def _write_shares(page: _Page, heading: str, shares: Sequence[outline.Share]) -> None:
    if not shares:
        return
    page.heading(heading)
    table = page.table("", right=("Bytes", "Share"), last="", header=False)
    for share in shares:
        table.add_row(share.label, share.value, facts.percent(share.share), _bar(share.share))
    page.print(table)


def _write_counts(report: Report, page: _Page) -> None:
    rows = outline.counts(report)
    if not rows:
        return
    page.heading("Objects")
    table = page.table("Type", right=("Baseline", "Now", "Change"))
    for row in rows:
        table.add_row(*row)
    page.print(table)


def _write_run(report: Report, page: _Page) -> None:
    page.heading("This run")
    for row in outline.run_facts(report):
        page.prose(f"{row.label}: {row.value}", indent=2, hang=4)


def _cleared(report: Report) -> list[str]:
    return [f"{c.metric} ({c.pattern}): {c.reason}" for c in outline.cleared(report)]


def _bar(share: float) -> str:
    return "█" * max(round(share * _BAR), 1 if share else 0)


class _Page:
    """A rich console that writes into memory; every text is plain, never markup."""

    def __init__(self, width: int, color: bool) -> None:
        self._file = io.StringIO()
        self._width = max(width, 40)
        self._console = Console(
            file=self._file, width=self._width, force_terminal=color, no_color=not color,
            color_system="standard" if color else None, markup=False, emoji=False,
            highlight=False, legacy_windows=False, _environ={},
        )  # fmt: skip

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line that is never broken."""
        self._console.print(Text(text, style), soft_wrap=True)

    def prose(self, text: str, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Write a sentence, broken between words; a word longer than the line stays whole."""
        wrapper = TextWrapper(
            self._width, initial_indent=" " * indent, subsequent_indent=" " * max(hang, indent),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        for line in wrapper.wrap(text):
            self.line(line, style)

    def block(self, text: str) -> None:
        """Write a framed log block as it is."""
        self.line(clean_lines(text.rstrip("\n")))

    def heading(self, text: str) -> None:
        """Write what stands above a section, after an empty line."""
        self.line()
        self.line(text, "bold")

    def bullets(self, heading: str, items: Iterable[str]) -> None:
        """Write a section of sentences, or nothing when there is none."""
        sentences = tuple(items)
        if not sentences:
            return
        self.heading(heading)
        for sentence in sentences:
            self.prose(f"- {sentence}", indent=2, hang=4)

    def table(
        self, first: str, right: Sequence[str], last: str | None = None, header: bool = True
    ) -> Table:
        """Return an empty table: a name that may wrap, numbers to its right, and a bar."""
        columns = [Column(first, overflow="fold")]
        columns += [Column(name, justify="right", no_wrap=True) for name in right]
        columns += [Column(last, no_wrap=True)] if last is not None else []
        return Table(*columns, box=None, pad_edge=True, padding=(0, 1, 0, 2), show_header=header,
                     header_style="dim")  # fmt: skip

    def rule(self) -> None:
        """Write a line between two reports."""
        self.line()
        self.line("─" * self._width, "dim")

    def print(self, table: Table) -> None:
        """Write a table without the spaces that rich puts at the ends of its lines."""
        self._console.print(table)

    def text(self) -> str:
        """Return everything written so far, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().split("\n"))
