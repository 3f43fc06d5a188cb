"""The processes of a job: a table with one row each, and remarks about all of them."""

from __future__ import annotations

from leakguard.model.job import ProcessRow
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
    rows = tuple(map(_process_cells, report.processes))
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
