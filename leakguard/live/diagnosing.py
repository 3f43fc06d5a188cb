"""Diagnoses that a guard makes of its own run: to alert the user, and to prove holders."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from leakguard.capture import heap
from leakguard.capture.heap.apart import looks
from leakguard.capture.probe import Unavailable
from leakguard.capture.tracers import tracer_at_work
from leakguard.live.inquiry import Inquiry
from leakguard.live.journal import Journal
from leakguard.live.meter import CostMeter
from leakguard.live.purse import Purse
from leakguard.model import Finding, Proof, Report, Run
from leakguard.model.finding import SEVERITY

OnLeak = Callable[[Report], object]

# Diagnoses that a run may make whatever its budget. Before a generation is traced, two consecutive
# diagnoses must agree on a suspect, and a run traces at most two generations (see ``tracing``).
# Derived: two times two. Measured: a diagnosis takes 20 to 60 ms in a short run.
_FREE_DIAGNOSES = 4
# The most proofs of one run. A proof takes a copy of the process and some seconds. Chosen: the
# first findings of a report matter most.
_MOST_PROOFS = 3


def diagnose_within(run: Run) -> Report:
    """Diagnose a run that continues, and free what the diagnosis has cached.

    Its cached tables of noise, up to 50,000 numbers per length of a series, would count as growth
    of the program.
    """
    from leakguard.analysis import diagnose
    from leakguard.analysis.series import forget

    try:
        return diagnose(run)
    finally:
        forget()


def findings_within(run: Run) -> tuple[Finding, ...]:
    """Return the findings of a run that continues; under tracemalloc, diagnose in a copy.

    A program that traces its allocations would slow the diagnosis down ten times. In a copy of the
    process, nothing is traced.
    """
    if tracemalloc.is_tracing():
        with suppress(Unavailable):
            return looks.take(lambda: diagnose_within(run).findings, tuple[Finding, ...])
    return diagnose_within(run).findings


@dataclass(slots=True)
class Diagnoses:
    """Diagnoses of the run so far for the guard's own use, as many as the budget allows."""

    journal: Journal
    meter: CostMeter
    purse: Purse
    inquiry: Inquiry
    _taken: int = 0
    _price: float = 0.0

    @property
    def affordable(self) -> bool:
        """Whether the budget allows another diagnosis; a few are always allowed."""
        return self._taken < _FREE_DIAGNOSES or self.purse.allows_seconds(self._price, self.inquiry)

    def findings(self) -> tuple[Finding, ...]:
        """Diagnose the run so far; its duration is the expected cost of the next diagnosis."""
        self._taken += 1
        before = self.meter.spent
        found = findings_within(self.journal.run())
        self._price = self.meter.spent - before
        return found


class Alarm:
    """Calls a function once per leak, at the end of the generation that proves it.

    A leak that is later attributed to another type with the same holder is the same leak. The
    function runs in the thread of the loop, between two generations. An exception that it raises is
    the user's own: it reaches the loop, so that it can end the training.
    """

    def __init__(self, call: OnLeak) -> None:
        """Store ``call``, which gets the report of the run so far."""
        self._call = call
        self._told: set[str] = set()
        self._looks = 0
        self._pending: Report | None = None

    def listen(self, journal: Journal) -> None:
        """Diagnose the run so far, if there was a look since the last diagnosis."""
        if journal.looks == self._looks:
            return
        self._looks = journal.looks
        report = diagnose_within(journal.run())
        leaks = [_identities(finding) for finding in report.findings if finding.verdict == "leak"]
        if any(self._told.isdisjoint(names) for names in leaks):
            self._pending = report
        self._told.update(*leaks)

    def ring(self) -> None:
        """Call the function if there is a new leak."""
        report, self._pending = self._pending, None
        if report is not None:
            self._call(report)


def subject(finding: Finding) -> str:
    """Return what a finding is about; the fingerprint is no use: it changes with the holder."""
    return finding.type or finding.kind


def _identities(finding: Finding) -> set[str]:
    """Return the names by which a leak is recognized in the next diagnosis."""
    holder = finding.held_by
    return {subject(finding)} if holder is None else {subject(finding), f"held by {holder}"}


def proofs_of(run: Run) -> tuple[Proof, ...]:
    """Empty the holders of the leading findings in copies; return what was freed."""
    holders = leading_holders(run)
    if tracemalloc.is_tracing() or tracer_at_work() is not None:
        return tuple(
            Proof(held_by, refused="another tool traces this process") for held_by in holders
        )
    return tuple(heap.prove(held_by, retained) for held_by, retained in holders.items())


def leading_holders(run: Run) -> dict[str, int | None]:
    """Return the holders of the leading findings of a finished run, with what they retain."""
    from leakguard.analysis import diagnose

    telling = (f for f in diagnose(run).findings if SEVERITY[f.verdict] >= SEVERITY["suspect"])
    held = {f.held_by: f.retained_bytes for f in telling if f.held_by}
    return dict(list(held.items())[:_MOST_PROOFS])
