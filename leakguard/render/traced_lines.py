"""The lines of a traced generation: for each, its objects still alive at the generation's end."""

from __future__ import annotations

from pathlib import Path

from leakguard.model import Run, Site
from leakguard.model.code_line import written
from leakguard.model.units import format_bytes
from leakguard.render.section import Section
from leakguard.render.source import source_lines
from leakguard.render.text import clean

_MOST_ROWS = 30  # rows; further ones are far smaller than a leak
_UNKNOWN = ""
_COLUMNS = ("Line", "Source", "Type", "Objects", "Bytes", "Held by")
_NUMBERS = ("Objects", "Bytes")


def traced_lines(run: Run, folder: Path | None) -> Section:
    """Return the latest traced generation as a table, largest first; no rows if there was none.

    A column without any entry is left out. ``folder`` is where source lines may be read; None to
    read none.
    """
    traced = next((s for s in reversed(run.snapshots) if s.sites), None)
    if traced is None:
        return Section("traced", "Lines of a traced generation")
    ranked = sorted(traced.sites, key=lambda site: (-(site.bytes or 0), -site.count))
    rows = tuple(dict.fromkeys(_site_cells(site, folder) for site in ranked[:_MOST_ROWS]))
    title = f"What survived the traced generation {traced.generation}, by line"
    told = [i for i in range(len(_COLUMNS)) if any(row[i] != _UNKNOWN for row in rows)]
    return Section(
        "traced",
        title,
        tuple(_COLUMNS[i] for i in told),
        tuple(tuple(row[i] for i in told) for row in rows),
        texts=frozenset(place for place, i in enumerate(told) if _COLUMNS[i] not in _NUMBERS),
    )


def _site_cells(site: Site, folder: Path | None) -> tuple[str, ...]:
    made = written(site.place, site.function)
    source = next((line.text.strip() for line in source_lines(made, folder) if line.made), _UNKNOWN)
    return (
        clean(made),
        source,
        clean(site.type or _UNKNOWN),
        f"{site.count:,}",
        _UNKNOWN if site.bytes is None else format_bytes(site.bytes),
        clean(site.held_by or _UNKNOWN),
    )
