"""Numbers and verdict for TensorBoard, next to the losses of the same run.

Example::

    guard = LeakGuard(sinks=[TensorBoard("runs/tb")])     # a folder, or a SummaryWriter of yours
"""

from __future__ import annotations

import os
from typing import Any

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals


class TensorBoard:
    """Scalars ``leakguard/memory/rss`` ... by generation, ``leakguard/verdict`` and its text."""

    def __init__(self, writer: Any) -> None:
        """Write with ``writer``: an object with ``add_scalar`` and ``add_text``, or a folder.

        A folder needs torch and the extra ``tensorboard``. Its file is closed when the run ends.
        """
        self._owns = isinstance(writer, str | os.PathLike)
        self._writer = _folder_writer(writer) if self._owns else writer
        self._generation = 0

    def write(self, vitals: Vitals) -> None:
        """Write a scalar for each number."""
        self._generation = vitals.generation
        for name, value in vitals.values.items():
            self._writer.add_scalar(f"leakguard/{name}", value, vitals.generation)

    def finish(self, report: Report) -> None:
        """Write the verdict, as a number and in words."""
        verdict = SEVERITY[report.verdict]
        self._writer.add_scalar("leakguard/verdict", verdict, self._generation)
        self._writer.add_text("leakguard/report", report.headline, self._generation)
        if self._owns:
            self._writer.close()


def _folder_writer(folder: str | os.PathLike[str]) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(os.fspath(folder))
