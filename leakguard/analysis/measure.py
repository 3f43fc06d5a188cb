"""Single numbers of a whole run, for budgets and comparisons."""

from __future__ import annotations

from typing import NamedTuple

from leakguard.analysis.series import rate
from leakguard.model.metric import METRICS
from leakguard.model.run import Run

_MEASURED = ("heap_in_use", "python_in_use", "rss_anonymous", "rss")


class Rate(NamedTuple):
    """Growth per generation of a metric; ``value`` is None if it is unknown.

    ``too_few`` is how many generations there are after how many of warm-up, if those are too few.
    """

    metric: str
    value: float | None
    too_few: tuple[int, int] | None = None


def live_growth(run: Run, warmup: int = 1) -> Rate:
    """Return the growth of live memory or, if that is unknown, of RSS; in bytes per generation."""
    growths = (metric_growth(run, name, warmup) for name in ("live_memory", "heap_in_use"))
    known = (growth for growth in growths if growth.value is not None)
    return next(known, None) or metric_growth(run, "rss", warmup)


def metric_growth(run: Run, metric: str, warmup: int = 1) -> Rate:
    """Return the Theil-Sen slope of a metric over the generations after the warm-up."""
    ends = run.generation_ends()[warmup:]
    read = METRICS[metric].read
    values = [float(value) for s in ends if (value := read(s.metrics)) is not None]
    if len(ends) < 2:
        return Rate(metric, None, too_few=(len(ends), warmup))
    if len(values) < len(ends):
        return Rate(metric, None)
    return Rate(metric, rate(values)[0])


def growths(run: Run, warmup: int = 1) -> dict[str, float]:
    """Return the growth in bytes per generation by each measurement that the run has.

    The allocators come first, then RSS, then ``objects``, the bytes of counted objects.
    """
    recorded = {name for snapshot in run.snapshots for name in snapshot.metrics}
    rates = {name: metric_growth(run, name, warmup).value for name in _MEASURED if name in recorded}
    known = {name: value for name, value in rates.items() if value is not None}
    ends = [shot.census for shot in run.generation_ends()[warmup:]]
    sizes = [float(seen.bytes) for seen in ends if seen is not None and seen.bytes is not None]
    return {**known, "objects": rate(sizes)[0]} if len(sizes) == len(ends) >= 2 else known


def highest_rss(run: Run, phase: str | None = None) -> int | None:
    """Return the highest RSS in bytes, including peaks within phases if these were recorded."""
    shots = run.snapshots if phase is None else tuple(run.of_phase(phase))
    sizes = [s.metrics[name] for s in shots for name in ("rss", "peak") if name in s.metrics]
    return int(max(sizes)) if sizes else None
