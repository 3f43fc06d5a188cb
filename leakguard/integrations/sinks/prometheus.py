"""Numbers and verdict as gauges on a Prometheus endpoint.

Example::

    prometheus_client.start_http_server(8000)
    guard = LeakGuard(sinks=[Prometheus(labels={"job": "erl"})])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals

_METRICS = {
    "memory": ("leakguard_memory_bytes", "Memory of the process at a generation's end", "kind"),
    "phases": ("leakguard_phase_rss_added_bytes", "RSS a phase added", "phase"),
    "objects": ("leakguard_objects", "Live instances of watched classes", "type"),
    "gauges": ("leakguard_gauge", "The program's own numbers", "name"),
}


class Prometheus:
    """Gauges ``leakguard_memory_bytes{kind="rss"}`` ... and ``leakguard_generation``.

    ``leakguard_verdict`` is 0 stable, 1 inconclusive, 2 suspect, 3 leak; it is set when a run ends.
    """

    def __init__(self, registry: Any = None, labels: Mapping[str, str] | None = None) -> None:
        """Register the gauges with ``registry``, or with the default registry if it is None.

        Every number gets ``labels``, for example to distinguish ranks.
        """
        import prometheus_client

        self._registry = prometheus_client.REGISTRY if registry is None else registry
        self._labels = dict(labels or {})
        self._gauges: dict[str, Any] = {}

    def write(self, vitals: Vitals) -> None:
        """Set the gauges to the numbers of this generation."""
        self._set("leakguard_generation", "The generation that ended last", vitals.generation)
        for name, value in vitals.values.items():
            family, _, which = name.partition("/")
            metric, help_, label = _METRICS[family]
            self._set(metric, help_, value, **{label: which})

    def finish(self, report: Report) -> None:
        """Set the verdict."""
        self._set("leakguard_verdict", "0 stable to 3 leak", SEVERITY[report.verdict])

    def _set(self, metric: str, help_: str, value: float, **label: str) -> None:
        import prometheus_client

        labels = {**self._labels, **label}
        if metric not in self._gauges:
            self._gauges[metric] = prometheus_client.Gauge(
                metric, help_, tuple(labels), registry=self._registry
            )
        gauge = self._gauges[metric]
        (gauge.labels(**labels) if labels else gauge).set(value)
