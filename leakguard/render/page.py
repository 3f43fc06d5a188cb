"""A page of plain text with optional colour, as wide as the reader's terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from textwrap import TextWrapper

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from leakguard.render.section import Section
from leakguard.render.text import clean_lines

VERDICT_COLORS = {"leak": "bold red", "suspect": "bold yellow", "inconclusive": "bold cyan",
                  "stable": "bold green"}  # fmt: skip
_BAR = 20
# Padding of a table cell above, right, below and left, in lines and columns.
_PADDING = (0, 1, 0, 2)


class Page:
    """A rich console that writes to memory; all texts are plain, never markup."""

    def __init__(self, width: int, color: bool) -> None:
        self._file = io.StringIO()
        self._width = max(width, 40)
        self._console = Console(
            file=self._file, width=self._width, force_terminal=color, no_color=not color,
            color_system="standard" if color else None, markup=False, emoji=False,
            highlight=False, legacy_windows=False, _environ={},
        )  # fmt: skip

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line that is never wrapped."""
        self._console.print(Text(text, style), soft_wrap=True)

    def prose(self, text: str, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Write a sentence, wrapped between words; a word longer than the line stays whole."""
        wrapper = TextWrapper(
            self._width, initial_indent=" " * indent, subsequent_indent=" " * max(hang, indent),
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        for line in wrapper.wrap(text):
            self.line(line, style)

    def lines(self, text: str) -> None:
        """Write a block of lines, each wrapped between words with its own indent."""
        for line in clean_lines(text.rstrip("\n")).split("\n"):
            indent = len(line) - len(line.lstrip())
            self.prose(line.lstrip(), indent=indent, hang=indent + 2)

    def block(self, text: str) -> None:
        """Write a framed log block as it is."""
        self.line(clean_lines(text.rstrip("\n")))

    def heading(self, text: str) -> None:
        """Write the heading of a section, after an empty line."""
        self.line()
        self.line(text, "bold")

    def section(self, section: Section) -> None:
        """Write a section: its title, its table or sentences, its remarks."""
        self.heading(f"{section.title}: {section.spark}" if section.spark else section.title)
        if section.texts and not section.aligned:
            for label, *rest in section.rows:
                self.prose(_sentence(label, rest), indent=2, hang=4)
        elif section.rows:
            self.table(section)
        for sentence in section.sentences:
            self.prose(sentence if section.rows else f"- {sentence}", indent=2, hang=4)

    def table(self, section: Section) -> None:
        """Write a table: names and texts that may wrap, numbers, and a bar for each share.

        In an aligned table, only a text in the last column may wrap.
        """
        last, places = len(section.columns) - 1, _places(section, self._width)
        columns = [
            Column(name, overflow="fold", no_wrap=section.aligned and place != last)
            if place == 0 or place in section.texts
            else Column(name, justify="right", no_wrap=True)
            for place, name in enumerate(section.columns)
            if place in places
        ]
        columns += [Column("", no_wrap=True)] if section.shares else []
        table = Table(*columns, box=None, padding=_PADDING, header_style="dim")
        bars: list[tuple[str, ...]] = [(_bar(share),) for share in section.shares]
        for row, bar in zip(section.rows, bars or [()] * len(section.rows), strict=True):
            table.add_row(*(row[place] for place in places), *bar)
        self._console.print(table)

    def rule(self) -> None:
        """Write a line between two reports."""
        self.line()
        self.line("─" * self._width, "dim")

    def text(self) -> str:
        """Return everything written so far, without spaces at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._file.getvalue().split("\n"))


def _sentence(label: str, rest: Sequence[str]) -> str:
    *details, text = rest
    return f"{', '.join([label, *details])}: {text}"


def _places(section: Section, width: int) -> list[int]:
    """Return the columns that fit this width: all of them, or all but some spare ones."""
    rows = (section.columns, *section.rows)
    widths = [sum(_PADDING[1::2]) + max(map(len, cells)) for cells in zip(*rows, strict=True)]
    places = list(range(len(widths)))
    for spare in section.spare:
        if sum(widths[place] for place in places) > width:
            places.remove(spare)
    return places


def _bar(share: float) -> str:
    return "█" * max(round(share * _BAR), 1 if share else 0)
