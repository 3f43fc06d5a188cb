"""Numbers and verdict in a Weights & Biases run, online or offline.

Example::

    wandb.init(project="erl", mode="offline")
    guard = LeakGuard(sinks=[WandB()])
"""

from __future__ import annotations

from typing import Any

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals


class WandB:
    """Metrics ``leakguard/memory/rss`` ... over ``leakguard/generation``; the verdict as summary.

    The metrics have an axis of their own, so that the steps of the training are not affected.
    """

    def __init__(self, run: Any = None) -> None:
        """Write to ``run``, or to the run that is current when the first generation ends."""
        self._run = run
        self._defined = False

    def write(self, vitals: Vitals) -> None:
        """Log the numbers of one generation."""
        run = self._current()
        if not self._defined:
            run.define_metric("leakguard/*", step_metric="leakguard/generation")
            self._defined = True
        named = {f"leakguard/{name}": value for name, value in vitals.values.items()}
        run.log({"leakguard/generation": vitals.generation, **named})

    def finish(self, report: Report) -> None:
        """Put the verdict into the run's summary."""
        summary = self._current().summary
        summary["leakguard/verdict"] = report.verdict
        summary["leakguard/severity"] = SEVERITY[report.verdict]
        summary["leakguard/report"] = report.headline

    def _current(self) -> Any:
        if self._run is None:
            import wandb

            self._run = wandb.run
        if self._run is None:
            raise RuntimeError("no W&B run: call wandb.init() before the first generation ends")
        return self._run
