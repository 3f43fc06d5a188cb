"""The charts of a report: first what leaks, below it the memory, then everything counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leakguard.model.finding import Finding
from leakguard.model.report import Report
from leakguard.model.run import Run
from leakguard.model.units import format_number
from leakguard.render import curves as of
from leakguard.render.curves import Curve
from leakguard.render.plot import CommonAxis, Plot, plot, whole_range
from leakguard.render.text import clean


@dataclass(frozen=True, slots=True)
class Chart:
    """Charts under one title, one below the other with a common x axis, and how to read them."""

    title: str
    plots: tuple[Plot, ...]
    caption: str = ""


def leak_chart(report: Report, finding: Finding, with_memory: bool = True) -> Chart | None:
    """Return the growth of a finding over generations, with the memory of the run below it."""
    grows = of.leak_curve(report.run, finding)
    memory = of.memory_curves(report.run) if with_memory else []
    if grows is None and not memory:
        return None
    frame = _frame(report.run, finding)
    plots = []
    if grows is not None:
        grows = _with_ceiling(report, finding, grows)
        plots.append(plot([grows], frame, f"{grows.title} over the run"))
    if memory and not _same(grows, memory):
        plots.append(plot(memory, frame, "Memory over the run"))
    ceiling = None if grows is None else grows.ceiling
    return Chart(_title(grows), tuple(plots), _caption(finding, frame, ceiling))


def memory_chart(report: Report) -> Chart | None:
    """Return the memory of a run over its generations; None if none was recorded."""
    memory = of.memory_curves(report.run)
    if not memory:
        return None
    finding = report.findings[0] if report.findings else None
    frame = _frame(report.run, finding)
    plots = (plot(memory, frame, "Memory over the run"),)
    return Chart("Memory over the run", plots, _caption(finding, frame))


def count_chart(report: Report) -> Chart | None:
    """Return a small chart for each watched class and gauge; None if there are none."""
    curves = of.count_curves(report.run)
    caption = "The dashed line is the expected maximum, or the capacity."
    return _small("Watched classes and gauges", report.run, curves, caption)


def more_charts(report: Report) -> Chart | None:
    """Return a small chart for rarely needed numbers: other kinds of memory, threads and files."""
    memory = of.memory_curves(report.run, of.MORE_MEMORY)
    return _small(
        "More numbers of this run", report.run, [*memory, *of.resource_curves(report.run)]
    )


def _small(title: str, run: Run, curves: Sequence[Curve], caption: str = "") -> Chart | None:
    frame = _frame(run, None)
    plots = tuple(plot([curve], frame, f"{curve.title} over the run", True) for curve in curves)
    return Chart(title, plots, caption) if plots else None


def _frame(run: Run, finding: Finding | None) -> CommonAxis:
    axis = of.axis(run)
    # No start of growth is marked for a peak, or for copies of the same data: such a finding is
    # about memory that the run needs from its beginning, and not about growth.
    grows = finding is not None and finding.kind not in ("peak", "copies")
    since = finding.started_at if finding and grows else None
    return CommonAxis(
        whole_range(axis.positions),
        axis.title,
        of.looks(run),
        tuple(of.bands(run, finding.phase if finding else None)),
        None if since is None else of.start_of(run, since),
        f"grows since generation {since}",
    )


def _with_ceiling(report: Report, finding: Finding, curve: Curve) -> Curve:
    """Return a curve of a count, with the maximum that the user expects."""
    if curve.key not in ("type", "gauge"):
        return curve
    known = {c.key: c.ceiling for c in of.count_curves(report.run)}
    ceiling = known.get(f"watched:{finding.type}", known.get(f"gauge:{finding.type}"))
    return Curve(curve.key, curve.title, curve.points, ceiling, curve.in_bytes)


def _same(grows: Curve | None, memory: Sequence[Curve]) -> bool:
    """True if the memory chart already shows the growth, so that it would be drawn twice."""
    return grows is not None and [curve.key for curve in memory] == [grows.key]


def _title(grows: Curve | None) -> str:
    return f"{grows.title}, by generation" if grows else "Memory, by generation"


def _caption(finding: Finding | None, frame: CommonAxis, ceiling: float | None = None) -> str:
    told = []
    if frame.bands and finding and finding.phase:
        told.append(f"shaded: {clean(finding.phase)}")
    if frame.looks:
        told.append(f"triangles: {len(frame.looks):,} looks at the whole heap")
    if ceiling is not None:
        told.append(f"dashed: {format_number(ceiling)}, the expected maximum")
    if finding is not None and frame.since is not None:
        told.append("red line: where the growth begins")
    sentence = "; ".join(told)
    return f"{sentence[0].upper()}{sentence[1:]}." if told else ""
