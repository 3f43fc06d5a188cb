"""A running process at one moment, for the terminal: its holders, or its memory from outside."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakguard.model import Holder, Snapshot
from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_number
from leakguard.render.log_block import snapshot_block
from leakguard.render.page import Page
from leakguard.render.section import Section
from leakguard.render.text import clean

_COLUMNS = 100  # columns; paths to a holder are long
_SHOWN = ("rss", "rss_high_water", "rss_anonymous", "rss_file", "rss_shared", "private", "pss",
          "swap", "vms", "threads", "open_files", "children")  # fmt: skip


def render_holders(snapshot: Snapshot) -> str:
    """Return the snapshot's block and its containers, those that retain most first."""
    table = Table("Retained", "Entries", "Of", "Held by", title="Who holds what", box=None)
    for holder in sorted(snapshot.holders, key=lambda holder: -(holder.retained_bytes or 0)):
        table.add_row(*_cells(holder))
    stream = io.StringIO()
    console = Console(file=stream, width=_COLUMNS, color_system=None)
    console.print(Text(snapshot_block(snapshot)))
    console.print(table)
    return stream.getvalue()


def _cells(holder: Holder) -> tuple[Text, ...]:
    retained = "" if holder.retained_bytes is None else format_bytes(holder.retained_bytes)
    grown = "" if holder.before is None else f" (+{holder.entries - holder.before:,})"
    entries = f"{holder.entries:,}{grown}"
    return Text(retained), Text(entries), Text(holder.element), Text(holder.path)


def render_outside(
    title: str,
    reading: Mapping[str, int | float],
    mappings: Sequence[tuple[str, int, int]],
    width: int,
) -> str:
    """Return the numbers of a process, and of its mappings (name, RSS, private bytes)."""
    page = Page(width, color=False)
    page.line(f"leakguard: {clean(title)}, observed from outside")
    known = [METRICS[name] for name in _SHOWN if name in reading]
    rows = tuple((m.title, _value(m.unit, reading[m.name])) for m in known)
    page.section(Section("process", "Process", ("Number", "Now"), rows))
    parts = tuple(
        (clean(name), format_bytes(rss), format_bytes(private)) for name, rss, private in mappings
    )
    if parts:
        columns = ("Mapping", "RSS", "Private")
        page.section(Section("mappings", "Largest mappings", columns, parts))
    return page.text()


def _value(unit: str, value: int | float) -> str:
    return format_bytes(value) if unit == "bytes" else format_number(value)
