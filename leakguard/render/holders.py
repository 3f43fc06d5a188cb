"""Who holds what at one moment, as a table for the terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leakguard.model import Holder, Snapshot
from leakguard.model.units import format_bytes
from leakguard.render.log_block import snapshot_block


def render_holders(snapshot: Snapshot, width: int = 100) -> str:
    """Return the snapshot's block and its containers, those that keep most alive first."""
    table = Table("Retained", "Entries", "Of", "Held by", title="Who holds what", box=None)
    for holder in sorted(snapshot.holders, key=lambda holder: -(holder.retained_bytes or 0)):
        table.add_row(*_cells(holder))
    stream = io.StringIO()
    console = Console(file=stream, width=width, color_system=None)
    console.print(Text(snapshot_block(snapshot)))
    console.print(table)
    return stream.getvalue()


def _cells(holder: Holder) -> tuple[Text, ...]:
    retained = "" if holder.retained_bytes is None else format_bytes(holder.retained_bytes)
    grown = "" if holder.before is None else f" (+{holder.entries - holder.before:,})"
    entries = f"{holder.entries:,}{grown}"
    return Text(retained), Text(entries), Text(holder.element), Text(holder.path)
