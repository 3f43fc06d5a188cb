"""Decides whether growth that only some looks saw continued after these looks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from leakguard.analysis.case import Case
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import BEYOND_CHANCE, WENT_ON_SHARE

# Measures of memory that may contain the objects, the most exact first.
_CONFIRMING = ("live_memory", "heap_in_use", "rss", "rss_shared", "gpu_allocated")


def went_on(case: Case, row: LedgerRow) -> bool:
    """Return whether a row kept growing after the looks that saw it.

    Growth that only some looks saw is a hypothesis. The memory of the last third of the run
    confirms or rejects it: the first measure that could show it. Growth that is too small to be
    detected there counts as confirmed.
    """
    seen = (_remembered_on(case, name, row) for name in _CONFIRMING)
    return next((answer for answer in seen if answer is not None), True)


def _remembered_on(case: Case, metric: str, row: LedgerRow) -> bool | None:
    """Compare the halves of the run's last third; None if growth would go undetected there."""
    series = case.timeline.metric(metric)
    values = series.values
    late = values[-(len(values) // 3) :] if len(values) >= 3 * BEYOND_CHANCE else ()
    half = len(late) // 2
    if not half or (row.lead.since or 0) >= series.generations[-len(late)]:
        return None
    # From the middle of one half to that of the other: a run may not have recorded all generations.
    at = series.generations[-len(late) :]
    expected = (row.bytes_rate or 0.0) * (fmean(at[-half:]) - fmean(at[:half]))
    if expected < 2 * _scatter(late, at):
        return None
    if max(values) - values[0] < WENT_ON_SHARE * expected:
        return None  # the metric gained too little in the whole run to contain the objects
    return fmean(late[-half:]) - fmean(late[:half]) >= WENT_ON_SHARE * expected


def _scatter(values: Sequence[float], at: Sequence[int]) -> float:
    """Return the mean absolute deviation of a series' changes: its sawtooth and noise.

    A change over several generations is compared with as many times the mean of one.
    """
    mean = (values[-1] - values[0]) / (at[-1] - at[0])
    changes = zip(pairwise(values), pairwise(at), strict=True)
    return fmean(abs(b - a - mean * (end - begin)) for (a, b), (begin, end) in changes)
