"""The sources from which growth is read, one file each. A new kind of leak is one more source.

A source takes the case and returns growth; it does not depend on the other sources. ``settlement``
decides which growth explains which, and what is left to report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Growth
from leakguard.analysis.sources.containers import containers
from leakguard.analysis.sources.copies import copies
from leakguard.analysis.sources.cycles import cycles
from leakguard.analysis.sources.even_entries import even_entries
from leakguard.analysis.sources.garbage import garbage
from leakguard.analysis.sources.gauges import gauges
from leakguard.analysis.sources.metrics import metrics
from leakguard.analysis.sources.offspring import offspring
from leakguard.analysis.sources.peaks import peaks
from leakguard.analysis.sources.promises import promises
from leakguard.analysis.sources.types import types

ReadGrowth: TypeAlias = Callable[[Case], "list[Growth]"]

SOURCES: tuple[ReadGrowth, ...] = (
    types,
    containers,
    even_entries,
    gauges,
    cycles,
    promises,
    metrics,
    peaks,
    garbage,
    copies,
    offspring,
)


def growths(case: Case) -> list[Growth]:
    """Return everything that increased in a run, as all sources measured it."""
    return [growth for source in SOURCES for growth in source(case)]
