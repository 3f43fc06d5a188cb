"""The complete diagnosis of a run; every renderer takes this value as its only input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leakguard.display import display
from leakguard.model.balance import Balance
from leakguard.model.brink import Death
from leakguard.model.finding import Cleared, Finding, Ignored, Verdict
from leakguard.model.forecast import Forecast
from leakguard.model.job import ProcessRow
from leakguard.model.ledger import Ledger
from leakguard.model.pod import PodRow
from leakguard.model.run import Run


@dataclass(frozen=True, slots=True)
class TrendRow:
    """RSS at one snapshot, and its change since the previous row of the table."""

    label: str
    generation: int | None
    phase: str | None
    rss: int
    change: int | None


@dataclass(frozen=True, slots=True)
class CountChange:
    """The live count of one type at the baseline and now."""

    type: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class BaselineGrowth:
    """The latest generation's end against the baseline.

    ``counts`` are those of the snapshot labelled ``counted``, the last one with a census.
    """

    baseline: str
    current: str
    rss_before: int | None
    rss_after: int | None
    counts: tuple[CountChange, ...] = ()
    counted: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What a run says about its memory.

    Attributes:
        verdict: the worst verdict among the findings; ``inconclusive`` when the run is too short
            to tell, ``stable`` when it was long enough and nothing grows without bound.
        headline: the verdict in one sentence.
        findings: defects, worst and largest first.
        cleared: what grew and is not a leak.
        ignored: findings that the user chose to ignore; they do not affect the verdict.
        ledger: the growth of RSS, part by part; None unless two snapshots have RSS.
        ledger_history: the ledger from the baseline to the end of each generation with sizes.
        forecast: when all growth together reaches the memory limit; None when nothing grows
            without bound, or the limit is not known.
        coverage: share of the allocator's in-use bytes that the last census accounted for.
        phase_growth: bytes added per generation by phase; they sum to the generation's growth.
        balance: how much of the growth of live memory is explained; None if it does not grow.
        limits: what this run could not have detected.
        processes: for a job, one row per process; ``run`` is the run of the worst process.
        beside: for a job, what its pods hold beside the processes, one row per place.
        remarks: sentences about the job: what its processes share, their total, and those lost.
        death: how the run ended, if it recorded no end or ran out of memory; None otherwise.
    """

    run: Run
    verdict: Verdict
    headline: str
    findings: tuple[Finding, ...] = ()
    cleared: tuple[Cleared, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    ledger: Ledger | None = None
    ledger_history: tuple[Ledger, ...] = ()
    forecast: Forecast | None = None
    coverage: float | None = None
    trend: tuple[TrendRow, ...] = ()
    growth: BaselineGrowth | None = None
    phase_growth: Mapping[str, float] = field(default_factory=dict)
    balance: Balance | None = None
    limits: tuple[str, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    beside: tuple[PodRow, ...] = ()
    remarks: tuple[str, ...] = ()
    death: Death | None = None

    def __repr__(self) -> str:
        """Name the verdict and the first fix; ``leakguard.render`` lays out the whole value."""
        fix = next((f" Fix: {finding.fix}" for finding in self.findings[:1] if finding.fix), "")
        return f"<Report {self.verdict}: {self.headline}{fix}>"

    def _repr_html_(self) -> str:
        """Return a small page for a notebook."""
        return display.page(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Write the short report, wrapped, in an IPython terminal."""
        printer.text(display.text(self, min(printer.max_width, 100)))
