"""Finds the least growth that a run's verdict would have reported, by trial, not by formula."""

from __future__ import annotations

import math
from dataclasses import replace

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.tolerance import BYTES_FLOOR, NOTABLE_BYTES, NOTABLE_TOTAL, notable


def least_told(case: Case) -> float | None:
    """Return the least detectable growth of live memory, in bytes per generation; None if unknown.

    The verdict would report a leak of twice this rate. The rate is found by doubling, up to all of
    the memory, so it is exact to a factor of two. In a run whose memory already grows, nothing can
    be tried, and the limit is the one that noise and length of the run allow.
    """
    memory = case.memory()
    if memory is None or not 0 < memory.verdict.detectable < math.inf:
        return None
    rounds = memory.series.generations[-1] - memory.series.generations[0]
    rate = max(memory.verdict.detectable, min(NOTABLE_BYTES, NOTABLE_TOTAL / max(rounds, 1)))
    if memory.grows:
        return rate
    most = max(memory.series.values)
    while rate < most and not _tells(case, memory, 2 * rate):
        rate *= 2
    return rate if rate < most else None


def _tells(case: Case, memory: Judged, rate: float) -> bool:
    """Return whether a leak of this rate, added to the recorded memory, would be reported."""
    series = memory.series
    first = series.generations[0]
    points = zip(series.generations, series.values, strict=True)
    leaking = replace(series, values=tuple(value + rate * (at - first) for at, value in points))
    judged = case.judge(leaking, noise_floor=BYTES_FLOOR)
    last, told = series.generations[-1], judged.verdict.rate
    return judged.grows and notable(told, judged.started_at, last, NOTABLE_BYTES)
