"""A run in progress on one screen: verdict, memory, phases, counts, holders, forecast."""

from __future__ import annotations

from leakguard.model.census import TypeCount
from leakguard.model.metric import METRICS
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.model.snapshot import Snapshot
from leakguard.model.units import format_bytes, format_change, format_size, format_size_change
from leakguard.render import outline
from leakguard.render.forecast import forecast_sentence
from leakguard.render.page import VERDICT_COLORS, Page
from leakguard.render.processes import processes_section
from leakguard.render.run_facts import name, watching_cost
from leakguard.render.section import Section
from leakguard.render.text import clean, short_type

# Memory metrics shown in addition to RSS, if a run has them.
_MEMORY = ("live_memory", "heap_held", "private", "pss", "gpu_allocated", "swap", "peak")
_VIEW_ROWS = 8  # phases, types and holders on a screen


def live_view(report: Report, *, width: int, color: bool, state: str = "") -> str:
    """Return the screen as text with ``width`` columns; ``state`` is shown after the name."""
    page, run = Page(width, color), report.run
    cost = watching_cost(run)
    told = (name(run), *_where(run), state, f"watching cost {cost}" if cost else "")
    page.prose(" · ".join(filter(None, told)), "dim", hang=2)
    page.prose(outline.verdict_line(report), VERDICT_COLORS[report.verdict], hang=2)
    for line in _culprit(report):
        page.prose(line, "bold" if line.startswith("Fix: ") else "", indent=2, hang=4)
    page.line()
    if (whose := _whose(report)) is not None:
        page.line(f"Of {whose}:", "dim")
    page.line(_memory_line(report, width))
    for line in _other_memory(run):
        page.prose(line, indent=2, hang=4)
    for section in (processes_section(report), _phases(report), _count_section(run), _holders(run)):
        if section.rows:
            page.section(section)
    page.line()
    if report.forecast is not None:
        page.prose(f"Forecast: {forecast_sentence(report.forecast)}", hang=2)
    for line in report.limits[:2]:
        page.prose(clean(line), "dim", hang=2)
    return page.text().rstrip("\n")


def live_line(report: Report) -> str:
    """Return one line for a pipe: generation, memory and verdict."""
    shots = report.run.snapshots
    last = next((s for s in reversed(shots) if "rss" in s.metrics), None)
    where = next(iter(_where(report.run)), "before its first generation")
    rss = "" if last is None else f" | RSS {format_size(last.metrics['rss'])}"
    return f"{where}{rss} | {outline.verdict_line(report)}"


def _where(run: Run) -> list[str]:
    """Return the current generation, and the time since the run began."""
    rounds, last = run.generations, run.snapshots[-1] if run.snapshots else None
    told = [f"generation {rounds[-1]:,}"] if rounds else []
    if last is not None and last.seconds:
        minutes, seconds = divmod(int(last.seconds), 60)
        told.append(f"{minutes // 60}:{minutes % 60:02}:{seconds:02}")
    return told


def _whose(report: Report) -> str | None:
    """Return the process of a job that the numbers come from; None for a single process."""
    pid = report.run.info.pid
    return next((clean(row.label) for row in report.processes if row.pid == pid), None)


def _culprit(report: Report) -> list[str]:
    if not report.findings:
        return []
    worst = report.findings[0]
    told = (("Held by", worst.held_by), ("Created at", worst.created_at), ("Fix", worst.fix))
    lines = [f"{label}: {clean(value)}" for label, value in told if value]
    more = len(report.findings) - 1
    return [*lines, f"and {more} more finding{'s' if more > 1 else ''}"] if more else lines


def _memory_line(report: Report, width: int) -> str:
    """Return RSS over the run with its first and last value, and the memory limit."""
    limit = report.run.info.memory_limit
    most = f"  limit {format_size(limit)}" if limit else ""
    spark = outline.trend_sparkline(report, max(10, width - 36 - len(most)))
    return f"RSS  {spark or _rss(report.run)}{most}"


def _rss(run: Run) -> str:
    known = [s.metrics["rss"] for s in run.snapshots if "rss" in s.metrics]
    return format_size(known[-1]) if known else "not known"


def _other_memory(run: Run) -> list[str]:
    ends = [s for s in run.snapshots if s.moment in ("generation", "mark", "baseline", "end")]
    values = [(metric, metric.read(ends[-1].metrics)) for metric in map(METRICS.get, _MEMORY)
              if metric is not None] if ends else []  # fmt: skip
    told = [f"{metric.words} {format_bytes(value)}" for metric, value in values if value]
    return [", ".join(told)] if told else []


def _phases(report: Report) -> Section:
    """Return the last RSS and the growth per generation of each phase."""
    last: dict[str, Snapshot] = {}
    for snapshot in report.run.snapshots:
        if snapshot.phase and snapshot.generation is not None and "rss" in snapshot.metrics:
            last[snapshot.phase] = snapshot
    largest = max((int(s.metrics["rss"]) for s in last.values()), default=0)
    rows = tuple(
        (
            clean(phase),
            format_size(int(s.metrics["rss"]), largest),
            _inside(s, largest),
            format_change(report.phase_growth[phase]) if phase in report.phase_growth else "",
        )
        for phase, s in list(last.items())[:_VIEW_ROWS]
    )
    columns = ("Phase", "RSS after", "Last time", "Per generation")
    return Section("phases", "Memory by phase", columns, rows)


def _inside(snapshot: Snapshot, largest: int) -> str:
    """Return what the phase added in its latest run."""
    entry = snapshot.entry.get("rss")
    if entry is None:
        return ""
    return format_size_change(int(snapshot.metrics["rss"] - entry), largest)


def _count_section(run: Run) -> Section:
    """Return the counts of watched classes, or of the types that gained most if none is watched."""
    watched = next((s.watched for s in reversed(run.snapshots) if s.watched), {})
    first = next((s.watched for s in run.snapshots if s.watched), {})
    rows = [
        (
            short_type(kind),
            f"{first[kind].count:,}" if kind in first else "",
            f"{seen.count:,}",
            _expected(seen.expected),
        )
        for kind, seen in watched.items()
    ]
    rows += [] if rows else _gained(run)
    columns = ("Objects", "First", "Now", "Expected")
    return Section("counts", "Live objects", columns, tuple(rows[:_VIEW_ROWS]))


def _expected(expected: tuple[int, int] | None) -> str:
    if expected is None:
        return ""
    low, high = expected
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _gained(run: Run) -> list[tuple[str, str, str, str]]:
    censuses = [s.census.types for s in run.snapshots if s.census is not None]
    if len(censuses) < 2:
        return []
    first, last = censuses[0], censuses[-1]
    nothing = TypeCount(0, 0)
    gains = {kind: seen.count - first.get(kind, nothing).count for kind, seen in last.items()}
    most = sorted((kind for kind in gains if gains[kind] > 0), key=lambda kind: -gains[kind])
    return [
        (short_type(kind), f"{first.get(kind, nothing).count:,}", f"{last[kind].count:,}", "")
        for kind in most[: _VIEW_ROWS // 2]
    ]


def _holders(run: Run) -> Section:
    """Return the containers that gained entries at the last look, with what they retain."""
    holders = next((s.holders for s in reversed(run.snapshots) if s.holders), ())
    grown = [h for h in holders if h.before is not None and h.entries > h.before]
    rows = tuple(
        (
            clean(h.path),
            f"{h.entries:,}",
            f"{h.entries - (h.before or 0):+,}",
            "" if h.retained_bytes is None else format_bytes(h.retained_bytes),
        )
        for h in sorted(grown, key=lambda h: -(h.retained_bytes or 0))[:_VIEW_ROWS]
    )
    return Section("holders", "Holders that grew", ("Holder", "Entries", "More", "Retains"), rows)
