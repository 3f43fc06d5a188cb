"""The picture of a run: memory over time, phases shaded, the verdict above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakguard.errors import UsageError
from leakguard.model.report import Report
from leakguard.render import vega
from leakguard.render.chart import PRINTED, Spec, memory_chart
from leakguard.render.curves import memory_curves
from leakguard.render.outline import worst

if TYPE_CHECKING:
    from leakguard.render import Layout


def svg(reports: Sequence[Report], layout: Layout) -> str:
    """Return the gravest report as SVG."""
    return vega.svg(_spec(reports))


def png(reports: Sequence[Report], layout: Layout) -> bytes:
    """Return the gravest report as PNG."""
    return vega.png(_spec(reports))


def _spec(reports: Sequence[Report]) -> Spec:
    report = worst(reports)
    spec = memory_chart(report, memory_curves(report.run), PRINTED)
    if spec is None:
        raise UsageError("the run holds no memory figures to draw")
    return spec
