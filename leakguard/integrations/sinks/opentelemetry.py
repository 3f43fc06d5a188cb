"""Numbers and verdict as OpenTelemetry gauges.

Example::

    metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(exporter)]))
    guard = LeakGuard(sinks=[OpenTelemetry({"rank": 0})])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals

_METRICS = {
    "memory": ("By", "kind"),
    "phases": ("By", "phase"),
    "objects": ("1", "type"),
    "gauges": ("1", "name"),
}


class OpenTelemetry:
    """Gauges ``leakguard.memory`` by ``kind``, ``leakguard.objects`` by ``type`` ... of one meter.

    The generation is a gauge of its own, ``leakguard.generation``. As an attribute of the other
    gauges, it would make a new series in every generation.
    """

    def __init__(self, attributes: Mapping[str, Any] | None = None, meter: Any = None) -> None:
        """Use ``meter``, or a meter of the global provider; every number gets ``attributes``."""
        if meter is None:
            from opentelemetry import metrics

            meter = metrics.get_meter("leakguard")
        self._meter = meter
        self._attributes = dict(attributes or {})
        self._gauges: dict[str, Any] = {}

    def write(self, vitals: Vitals) -> None:
        """Set the gauges to the numbers of this generation."""
        self._set("generation", vitals.generation, "1")
        for name, value in vitals.values.items():
            family, _, which = name.partition("/")
            unit, attribute = _METRICS[family]
            self._set(family, value, unit, **{attribute: which})

    def finish(self, report: Report) -> None:
        """Set the verdict as a number from 0 (stable) to 3 (leak), with its name as attribute."""
        self._set("verdict", SEVERITY[report.verdict], "1", verdict=report.verdict)

    def _set(self, name: str, value: float, unit: str, **attributes: str) -> None:
        if name not in self._gauges:
            self._gauges[name] = self._meter.create_gauge(f"leakguard.{name}", unit=unit)
        self._gauges[name].set(value, {**self._attributes, **attributes})
