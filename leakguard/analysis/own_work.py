"""Removes the guard's own memory from the metrics of the process.

A look stores what it saw, and diagnoses and traces import modules once something is suspect. These
are steps of a megabyte or two that the program did not cause. They occur between the end of one
generation and the beginning of the next, and only if the guard did more than read metrics. This
timing separates them from the program's own memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import median

from leakguard.analysis.tolerance import FEWEST_LOOKS
from leakguard.model import Snapshot
from leakguard.model.metric import METRICS
from leakguard.model.series import Series


def without_own_work(series: Series, ends: Mapping[int, Snapshot]) -> Series:
    """Return a series of generations' ends without the steps that looks caused.

    A step is the memory gained between a look and the next generation, beyond what a generation
    without a look adds at that time of the run. If a later look frees memory of such steps, the
    correction becomes smaller by that amount. A run with few generations without a look is not
    corrected.
    """
    at, values = series.generations, series.values
    if len(values) < 2 * FEWEST_LOOKS:
        return series
    # A look after the loop may replace the end of a generation. Such an end has no metrics and no
    # value in the series, so only the ends of generations in the series are used.
    shots = [ends[generation] for generation in at]
    worked = [shot.cost.tier > 0 for shot in shots]
    changes = [later - before for before, later in pairwise(values)]
    apart = [later - before for before, later in pairwise(at)]
    paces = [change / gap for change, gap in zip(changes, apart, strict=True)]
    quiet = [i for i in range(len(changes)) if not worked[i] and not worked[i + 1]]
    if len(quiet) < 2 * FEWEST_LOOKS:
        return series
    own, kept = 0.0, [values[0]]
    for i, change in enumerate(changes):
        if worked[i] or shots[i + 1].was_traced:
            pace = _usual(i, quiet, paces)
            # Generations that were passed over in between are the program's.
            between = _between(series.name, shots[i], shots[i + 1]) - pace * (apart[i] - 1)
            # The tracer's tables grow during the whole traced generation, so the guard's part may
            # be as large as the whole change.
            if shots[i + 1].was_traced:
                between = change
            beside = change - pace * apart[i]
            # Memory that a look left may be freed after a later look. A fall by more than looks
            # have left so far is the program's.
            own += max(0.0, min(between, beside)) or max(-own, min(0.0, max(between, beside)))
        kept.append(values[i + 1] - own)
    return replace(series, values=tuple(kept))


def _usual(i: int, quiet: list[int], paces: list[float]) -> float:
    """Return the median pace of the nearest generations without a look."""
    nearest = sorted(quiet, key=lambda j: abs(j - i))[: 2 * FEWEST_LOOKS]
    return median(paces[j] for j in nearest)


def _between(metric: str, end: Snapshot, following: Snapshot) -> float:
    """Return the gain of a metric between a generation's end and the beginning of the next.

    If the metric was not read at the beginning, the gain is estimated from Python's blocks, each
    counted at the mean size, plus the gain of the C allocator for live memory.
    """
    now, then = METRICS[metric].read(following.entry), METRICS[metric].read(end.metrics)
    if now is not None and then is not None:
        return now - then
    blocks = _gain("python_blocks", end, following)
    in_use, count = (end.metrics.get(name, 0) for name in ("python_in_use", "python_blocks"))
    size = in_use / count if count else 0.0
    heap = _gain("heap_in_use", end, following) if metric == "live_memory" else 0.0
    return heap + size * blocks


def _gain(name: str, end: Snapshot, following: Snapshot) -> float:
    return following.entry.get(name, 0) - end.metrics.get(name, following.entry.get(name, 0))
