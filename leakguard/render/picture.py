"""The picture of a run in its own file: the verdict, the charts of what leaks and of the memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING

from leakguard.errors import UsageError, install
from leakguard.model.report import Report
from leakguard.render import outline
from leakguard.render.charts import Chart, leak_chart, memory_chart
from leakguard.render.plot import Plot
from leakguard.render.template import environment

if TYPE_CHECKING:
    from leakguard.render import Layout

WIDTH = 760  # pixels
_LETTERS = 88  # characters of the verdict on one line of that width
_SMALL_LETTERS = 110  # characters of the smaller text below the charts
_GAP = 14  # pixels between two charts
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")


def svg(reports: Sequence[Report], layout: Layout) -> str:
    """Return the worst report as SVG, in colours for paper."""
    report = outline.worst(reports)
    chart = _chart(report)
    if chart is None:
        raise UsageError("the run holds no memory figures to draw")
    title = wrap(outline.verdict_line(report), _LETTERS)
    top = 18 * len(title) + 34
    plots = list(_below(chart.plots, top))
    return environment().get_template("picture.svg.j2").render(
        title=title, run=outline.title(report), plots=plots, width=WIDTH,
        caption=wrap(chart.caption, _SMALL_LETTERS), below=plots[-1][1] + plots[-1][0].height + 12,
        style=printed_style(),
    )  # fmt: skip


def png(reports: Sequence[Report], layout: Layout) -> bytes:
    """Return the worst report as PNG, at twice the size for sharp text."""
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(f"PNG needs the package vl-convert-python; {install('png')}") from error
    return vl_convert.svg_to_png(svg(reports, layout), scale=2)


def printed_style() -> str:
    """Return the style of charts with the colours of a light page in place of variables."""
    # The colours of a dark page come second in the file; in reversed order, the light ones win.
    light = dict(reversed(re.findall(r"--([\w-]+): (#\w+)", asset("report.css"))))
    return _VARIABLE.sub(lambda name: light[name[1]], asset("plot.css"))


def asset(name: str) -> str:
    """Return the text of a file in the folder of the templates."""
    return files("leakguard.render").joinpath(f"templates/{name}").read_text("utf-8").strip()


def _chart(report: Report) -> Chart | None:
    return leak_chart(report, report.findings[0]) if report.findings else memory_chart(report)


def _below(plots: Sequence[Plot], top: int) -> list[tuple[Plot, int]]:
    places = []
    for plot in plots:
        places.append((plot, top))
        top += plot.height + _GAP
    return places
