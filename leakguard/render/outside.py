"""A process seen from outside, for the terminal: its memory as a whole and its largest mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leakguard.model.metric import METRICS
from leakguard.model.units import format_bytes, format_number
from leakguard.render.page import Page
from leakguard.render.section import Section
from leakguard.render.text import clean

_SHOWN = ("rss", "rss_high_water", "rss_anonymous", "rss_file", "rss_shared", "private", "pss",
          "swap", "vms", "threads", "open_files", "children")  # fmt: skip


def render_outside(
    title: str,
    reading: Mapping[str, int | float],
    mappings: Sequence[tuple[str, int, int]],
    width: int,
) -> str:
    """Return the numbers of a process, and of its mappings (name, RSS, private bytes)."""
    page = Page(width, color=False)
    page.line(f"leakguard: {clean(title)}, seen from outside")
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
