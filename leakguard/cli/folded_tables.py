"""Markdown whose tables show every word in full: rich cuts off words wider than their column."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown as RichMarkdown
from rich.markdown import MarkdownElement, TableElement
from rich.table import Table


class _FoldedTable(TableElement):
    """A table that continues a word on the next line if the word is wider than its column."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from map(_folded, super().__rich_console__(console, options))


def _folded(part: object) -> Table:
    assert isinstance(part, Table)
    for column in part.columns:
        column.overflow = "fold"
    return part


class Markdown(RichMarkdown):
    """The Markdown of rich, with tables that show every word in full."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **RichMarkdown.elements,
        "table_open": _FoldedTable,
    }
