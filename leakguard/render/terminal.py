"""The report for a terminal: the verdict first, plain lines that ``grep`` finds."""

from __future__ import annotations

import io
from collections.abc import Sequence
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.render import facts, outline
from leakguard.render.log_block import snapshot_block
from leakguard.render.section import Section
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
    for finding in report.findings[1:]:
        page.line()
        _write_facts(finding, page)
    for section in outline.sections(report, _TREND_ROWS):
        _write_section(section, page)


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


def _write_section(section: Section, page: _Page) -> None:
    page.heading(f"{section.title}: {section.spark}" if section.spark else section.title)
    if section.texts:
        for label, *rest in section.rows:
            page.prose(_sentence(label, rest), indent=2, hang=4)
    elif section.rows:
        page.table(section)
    for sentence in section.sentences:
        page.prose(sentence if section.rows else f"- {sentence}", indent=2, hang=4)


def _sentence(label: str, rest: Sequence[str]) -> str:
    *details, text = rest
    return f"{', '.join([label, *details])}: {text}"


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

    def table(self, section: Section) -> None:
        """Write a table: a name that may wrap, numbers to its right, and a bar for a share."""
        first, *numbers = section.columns
        columns = [Column(first, overflow="fold")]
        columns += [Column(name, justify="right", no_wrap=True) for name in numbers]
        columns += [Column("", no_wrap=True)] if section.shares else []
        table = Table(*columns, box=None, padding=(0, 1, 0, 2), header_style="dim")
        bars: list[tuple[str, ...]] = [(_bar(share),) for share in section.shares]
        for row, bar in zip(section.rows, bars or [()] * len(section.rows), strict=True):
            table.add_row(*row, *bar)
        self._console.print(table)

    def rule(self) -> None:
        """Write a line between two reports."""
        self.line()
        self.line("─" * self._width, "dim")

    def text(self) -> str:
        """Return everything written so far, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().split("\n"))
