"""The values that travel from a live process to a rendered report; they import nothing else."""

from leakguard.model.census import Census, LargeObject, Storage, TypeCount
from leakguard.model.finding import Cleared, Finding, Verdict
from leakguard.model.forecast import Forecast
from leakguard.model.holder import Holder, Hop
from leakguard.model.known_leak import Ignored, KnownLeak
from leakguard.model.ledger import Ledger
from leakguard.model.report import CountChange, Growth, Report, TrendRow
from leakguard.model.run import Run, RunInfo
from leakguard.model.snapshot import (
    Collection,
    Cost,
    Expectation,
    Gauge,
    PhaseTotal,
    Site,
    Snapshot,
    Watched,
)

__all__ = [
    "Census",
    "Cleared",
    "Collection",
    "Cost",
    "CountChange",
    "Expectation",
    "Finding",
    "Forecast",
    "Gauge",
    "Growth",
    "Holder",
    "Hop",
    "Ignored",
    "KnownLeak",
    "LargeObject",
    "Ledger",
    "PhaseTotal",
    "Report",
    "Run",
    "RunInfo",
    "Site",
    "Snapshot",
    "Storage",
    "TrendRow",
    "TypeCount",
    "Verdict",
    "Watched",
]
