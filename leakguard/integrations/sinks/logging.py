"""Numbers and verdict as log lines of the standard library's ``logging``.

Example::

    guard = LeakGuard(sinks=[Logging("training.memory")])
"""

from __future__ import annotations

import logging

from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.units import format_bytes
from leakguard.model.vitals import Vitals


class Logging:
    """Logs a line of level INFO per generation, and the verdict at the end.

    The verdict has level WARNING if it is ``suspect`` or ``leak``, else INFO. The numbers are also
    in the record's attribute ``leakguard``, for a formatter that writes JSON.
    """

    def __init__(self, logger: logging.Logger | str = "leakguard") -> None:
        """Log to ``logger``, which is a logger or the name of a logger."""
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger

    def write(self, vitals: Vitals) -> None:
        """Log the numbers of one generation."""
        text = ", ".join(f"{name} {_shown(name, value)}" for name, value in vitals.values.items())
        extra = {"leakguard": dict(vitals.values)}
        self._logger.info("generation %d: %s", vitals.generation, text, extra=extra)

    def finish(self, report: Report) -> None:
        """Log the verdict in one sentence."""
        telling = SEVERITY[report.verdict] >= SEVERITY["suspect"]
        level = logging.WARNING if telling else logging.INFO
        extra = {"leakguard": {"verdict": report.verdict}}
        self._logger.log(level, "%s: %s", report.verdict, report.headline, extra=extra)


def _shown(name: str, value: float) -> str:
    return format_bytes(value) if name.startswith(("memory/", "phases/")) else f"{value:g}"
