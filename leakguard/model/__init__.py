"""The values that are passed from a live process to a rendered report.

These modules import nothing else of leakguard's packages. Their terms are those of the glossary,
one word for each thing: ``leakguard manual glossary``.
"""

from leakguard.model.births import Birthplace, Births, Cohort
from leakguard.model.census import Census, LargeObject, Storage, TypeCount
from leakguard.model.finding import Cleared, Finding, Ignored, Verdict
from leakguard.model.forecast import Forecast
from leakguard.model.holder import Holder, Hop, Proof
from leakguard.model.ledger import Ledger
from leakguard.model.report import BaselineGrowth, CountChange, Report, TrendRow
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
    "BaselineGrowth",
    "Birthplace",
    "Births",
    "Census",
    "Cleared",
    "Cohort",
    "Collection",
    "Cost",
    "CountChange",
    "Expectation",
    "Finding",
    "Forecast",
    "Gauge",
    "Holder",
    "Hop",
    "Ignored",
    "LargeObject",
    "Ledger",
    "PhaseTotal",
    "Proof",
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
