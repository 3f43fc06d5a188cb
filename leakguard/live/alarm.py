"""Tells the user's own function of a leak while the loop still runs."""

from __future__ import annotations

from collections.abc import Callable

from leakguard.live.diagnosing import diagnose_within
from leakguard.live.journal import Journal
from leakguard.model import Finding, Report

OnLeak = Callable[[Report], object]


class Alarm:
    """Calls a function once for each leak, at the end of the generation that proves it.

    The function runs in the thread of the loop, between two generations. What it raises is the
    user's own and reaches the loop, so that it may end the training.
    """

    def __init__(self, call: OnLeak) -> None:
        """Set up the alarm; ``call`` gets the report of the run so far."""
        self._call = call
        self._told: set[str] = set()
        self._looks = 0
        self._pending: Report | None = None

    def listen(self, journal: Journal) -> None:
        """Diagnose the run so far where a look was taken since the last time."""
        if journal.looks == self._looks:
            return
        self._looks = journal.looks
        report = diagnose_within(journal.run())
        leaks = {_name(finding) for finding in report.findings if finding.verdict == "leak"}
        if leaks - self._told:
            self._told |= leaks
            self._pending = report

    def ring(self) -> None:
        """Call the function if there is something new to tell."""
        report, self._pending = self._pending, None
        if report is not None:
            self._call(report)


def _name(finding: Finding) -> str:
    """Return what a finding is about; its fingerprint changes when its holder is found."""
    return finding.type or finding.kind
