"""The large objects of the last census, as a section."""

from __future__ import annotations

from leakguard.model.census import LargeObject
from leakguard.model.run import Run
from leakguard.model.units import format_bytes
from leakguard.render.section import Section
from leakguard.render.text import clean

_COLUMNS = ("Object", "Bytes", "Retains", "Held by")


def large_objects(run: Run) -> Section:
    """Return the large objects of the latest census that has any, as it listed them."""
    seen = (s for s in reversed(run.snapshots) if s.census is not None and s.census.large)
    latest = next(seen, None)
    if latest is None or latest.census is None:
        return Section("large", "Large objects")
    rows = tuple(_row(item) for item in latest.census.large)
    title = f"Large objects at {clean(latest.label)}"
    return Section("large", title, _COLUMNS, rows, texts=frozenset({3}))


def _row(item: LargeObject) -> tuple[str, ...]:
    shape = f" {item.shape}" if item.shape is not None else ""
    words = f"{item.type}{shape} {item.dtype or ''} {item.device or ''}"
    retained = "unknown" if item.retained_bytes is None else format_bytes(item.retained_bytes)
    held = "unknown" if item.held_by is None else clean(item.held_by)
    return " ".join(clean(words).split()), format_bytes(item.bytes), retained, held
