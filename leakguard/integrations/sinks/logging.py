"""Numbers and verdict as one line each of the standard library's ``logging``.

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
    """A line of level INFO a generation; the verdict as WARNING where something leaks.

    The numbers stand in the record's ``leakguard`` attribute too, for a formatter that writes JSON.
    """

    def __init__(self, logger: logging.Logger | str = "leakguard") -> None:
        """Log to ``logger``, or to the one of this name."""
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
