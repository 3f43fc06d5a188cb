"""Numbers and verdict in an MLflow run.

Example::

    with mlflow.start_run():
        guard = LeakGuard(sinks=[MLflow()])
"""

from __future__ import annotations

import re
from typing import Any

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals


class MLflow:
    """Metrics ``leakguard/memory/rss`` ... with the generation as step; the verdict as tags."""

    def __init__(self, run_id: str | None = None) -> None:
        """Write to the run ``run_id``, or to the run active when the first generation ends."""
        self._run_id = run_id

    def write(self, vitals: Vitals) -> None:
        """Log the numbers of one generation."""
        named = {_allowed(f"leakguard/{name}"): value for name, value in vitals.values.items()}
        _mlflow().log_metrics(named, step=vitals.generation, run_id=self._current())

    def finish(self, report: Report) -> None:
        """Tag the run with the verdict; this works even if the run has ended."""
        run_id = self._current()
        client = _mlflow().MlflowClient()
        client.log_metric(run_id, "leakguard/severity", SEVERITY[report.verdict])
        client.set_tag(run_id, "leakguard.verdict", report.verdict)
        client.set_tag(run_id, "leakguard.report", report.headline)

    def _current(self) -> str:
        if self._run_id is None:
            active = _mlflow().active_run()  # log_metrics() alone would start a new run
            if active is None:
                raise RuntimeError("no MLflow run: call mlflow.start_run() before the loop")
            self._run_id = str(active.info.run_id)
        return self._run_id


def _allowed(name: str) -> str:
    """Return the name with characters that MLflow refuses, as in ``<locals>``, replaced."""
    return re.sub(r"[^\w./ -]", "_", name)


def _mlflow() -> Any:
    import mlflow

    return mlflow
