"""The ledger of one run: what must be reported, what is healthy, and what neither explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.balance import balance_of
from leakguard.analysis.case import Case
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.growth import Growth
from leakguard.analysis.row import LedgerRow, line_of
from leakguard.analysis.timeline import LIVE_MEMORY, gauge_reader
from leakguard.analysis.tolerance import is_about
from leakguard.model.balance import Balance
from leakguard.model.series import Series


class RunLedger:
    """The rows of one run as they are entered, and the growth that is cleared.

    Attributes:
        case: the run.
        growths: everything that increased, as the sources measured it.
        rows: what must be reported, so far.
        cleared: what is healthy, so far.
        filling: gauges that fill towards a capacity.
        full: containers that fill towards a bound, with objects that become more.
    """

    def __init__(self, case: Case, growths: Sequence[Growth]) -> None:
        self.case = case
        self.growths = growths
        self.rows: list[LedgerRow] = []
        self.cleared: list[Harmless] = []
        self.filling = [growth for growth in self.of("gauge") if growth.fills]
        self.full: tuple[Growth, ...] = ()

    def of(self, *sources: str) -> list[Growth]:
        """Return what some sources measured."""
        return [growth for growth in self.growths if growth.source in sources]

    @property
    def memory(self) -> Growth | None:
        """The growth of live memory; None if it does not grow, or by too little."""
        return next((growth for growth in self.of("metric") if growth.name in LIVE_MEMORY), None)

    @property
    def balance(self) -> Balance | None:
        """How much of the growth of live memory the ledger explains; None if it does not grow."""
        return balance_of(self.case, self.rows, self.cleared)

    def gauges(self) -> list[Series]:
        """Return the values of the gauges that fill."""
        read = ((gauge.name, gauge_reader(gauge.name)) for gauge in self.filling)
        return [self.case.timeline.best_series(name, reader) for name, reader in read]

    def named_bytes(self, phase: str | None = None) -> float:
        """Return the bytes per generation that rows and cleared growth explain so far.

        What is known to be made in another phase than ``phase`` is left out.
        """
        rows = (row for row in self.rows if row.lead.name not in LIVE_MEMORY)
        there = (row for row in rows if None in (phase, row.phase) or row.phase == phase)
        found = sum(row.bytes_rate or 0.0 for row in there)
        return found + sum(one.bytes_per_generation or 0.0 for one in self.cleared)

    def put(self, row: LedgerRow, known: LedgerRow) -> None:
        """Enter a row in place of a known one."""
        self.rows[self.rows.index(known)] = row

    def add_to(self, row: LedgerRow, size: float) -> None:
        """Add bytes per generation to what a row gains."""
        self.put(replace(row, bytes_rate=(row.bytes_rate or 0.0) + size), row)

    def maker(self, rest: float) -> tuple[LedgerRow, float] | None:
        """Return the row whose line left about as much as nothing explains, and how much of it.

        None if no line did.
        """
        if rest <= 0:
            return None
        made = ((row, self._made_beside(row)) for row in self.rows)
        return next(((r, min(m, rest)) for r, m in made if is_about(m, rest)), None)

    def _made_beside(self, row: LedgerRow) -> float:
        """Return the bytes per generation that a row's line left beside what rows tell of it."""
        line = line_of(row)
        told = sum(other.bytes_rate or 0.0 for other in self.rows if line_of(other) == line)
        return 0.0 if line is None else self.case.births.left_by(line) - told
