"""The processes of a job: a table with one row each, and remarks about all of them."""

from __future__ import annotations

from leakguard.model.job import ProcessRow
from leakguard.model.pod import PodRow
from leakguard.model.report import Report
from leakguard.model.units import format_bytes, format_change
from leakguard.render.section import Section
from leakguard.render.text import clean

_STATES = {
    "running": "running",
    "finished": "finished",
    "lost": "lost",
    "unknown": "not finished",
}


def processes_section(report: Report) -> Section:
    """Return the table of a job's processes; empty for a run of a single process."""
    several = len({row.host for row in report.beside}) > 1
    rows = (
        *map(_process_cells, report.processes),
        *(_place_cells(row, several) for row in report.beside),
    )
    columns = ("Process", "State", "Verdict", "RAM", "Private", "Per generation", "What grows")
    return Section(
        "processes",
        "Processes",
        columns,
        rows,
        sentences=tuple(clean(remark) for remark in report.remarks),
        texts=frozenset({1, 2, 6}),
        aligned=True,
        spare=(4, 5),
    )


def _process_cells(row: ProcessRow) -> tuple[str, ...]:
    memory = row.rss if row.pss is None else row.pss
    state = _STATES[row.state]
    return (
        clean(row.label),
        f"{state}, restarted" if row.restarts else state,
        row.verdict,
        "" if memory is None else format_bytes(memory),
        "" if row.private is None else format_bytes(row.private),
        format_change(row.bytes_per_generation) if row.bytes_per_generation else "",
        clean(row.what),
    )


def _place_cells(row: PodRow, several: bool) -> tuple[str, ...]:
    """Return the cells of memory that no process holds; it is named with its pod if need be."""
    place = f"{row.place} of {row.host}" if several else row.place
    grows = f"{format_change(row.bytes_per_minute)} a minute" if row.bytes_per_minute else ""
    return clean(place), "no process", "", format_bytes(row.bytes), "", "", grows
