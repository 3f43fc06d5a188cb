"""Decides whether growth that only some looks saw continued after these looks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from leakguard.analysis.case import Case
from leakguard.analysis.defect import Defect
from leakguard.analysis.growth import Growth
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.tolerance import NOTABLE_TOTAL, WENT_ON_SHARE

# Generations that are enough to see whether growth continued. Chosen: two halves of four each,
# because a mean of four is steadier than single values.
_AFTERWARDS = 8
# Measures of memory that may contain the objects. If any of them rises too, it confirms the growth.
_CONFIRMING = ("live_memory", "heap_in_use", "rss", "rss_shared", "gpu_allocated")


def went_on(case: Case, defect: Defect) -> bool:
    """Return whether a defect kept growing after the looks that saw it.

    Growth that only some looks saw is a hypothesis. A later census of the same type, or the memory
    of the last third of the run, confirms or rejects it. Growth that is too small to be detected
    there counts as confirmed.
    """
    lead = defect.lead
    if lead.source == "container" and not lead.is_buffer and lead.judged is not None:
        by_count = _counted_on(case, lead, lead.judged.series.generations[-1])
        if by_count is not None:
            return by_count
    seen = [_remembered_on(case, name, defect) for name in _CONFIRMING]
    known = [answer for answer in seen if answer is not None]
    return any(known) or not known


def _counted_on(case: Case, container: Growth, last: int) -> bool | None:
    """Compare the last count of the entries' type with that at the end of the first two thirds."""
    read = count_reader(container.type or "")
    ends = case.timeline.ends.items()
    counts = {g: count for g, s in ends if g >= last and (count := read(s)) is not None}
    if not counts:
        return None
    latest, first = max(counts), min(case.timeline.ends)
    before = max((g for g in counts if g <= latest - (latest - first) // 3), default=latest)
    expected = (container.rate or 0.0) * (latest - before)
    if latest - before < _AFTERWARDS or expected <= 0:
        return None
    return counts[latest] - counts[before] >= WENT_ON_SHARE * expected


def _remembered_on(case: Case, metric: str, defect: Defect) -> bool | None:
    """Compare the halves of the run's last third; None if growth would go undetected there."""
    judged = case.metric(metric)
    if judged is None:
        return None
    values = judged.series.values
    late = values[-(len(values) // 3) :] if len(values) >= 3 * _AFTERWARDS else ()
    half = len(late) // 2
    expected = (defect.bytes_rate or 0.0) * half
    if not half or (defect.lead.since or 0) >= judged.series.generations[-len(late)]:
        return None
    if expected * 2 < NOTABLE_TOTAL or expected < 2 * _scatter(late):
        return None
    if max(values) - values[0] < WENT_ON_SHARE * expected:
        return None  # the metric gained too little in the whole run to contain the objects
    return fmean(late[-half:]) - fmean(late[:half]) >= WENT_ON_SHARE * expected


def _scatter(values: Sequence[float]) -> float:
    """Return the mean absolute deviation of a series' changes: its sawtooth and noise."""
    changes = [later - before for before, later in pairwise(values)]
    mean = fmean(changes)
    return fmean(abs(change - mean) for change in changes)
