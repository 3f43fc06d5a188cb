"""Types whose live count grows, read from the censuses."""

from __future__ import annotations

import sys
from dataclasses import replace

from leakguard.analysis.case import Case, Judged, slope
from leakguard.analysis.growth import Growth
from leakguard.analysis.timeline import bytes_reader, count_reader
from leakguard.model import Watched
from leakguard.model.finding import Kind
from leakguard.model.series import Series
from leakguard.model.units import format_number

# Handles that torch makes when a tensor's storage is asked for; the storage itself is counted.
_HANDLES = frozenset({"torch.storage.UntypedStorage"})

_FRAMEWORKS = frozenset({"numpy", "torch", "gymnasium", "pandas", "scipy", "tqdm", "matplotlib"})

KINDS: dict[str, Kind] = {"torch.Tensor": "tensors", "numpy.ndarray": "arrays"}


def types(case: Case) -> list[Growth]:
    """Return the types that have more instances every generation, each with its phases."""
    names = (name for name in case.timeline.changing_types() if name not in _HANDLES)
    found = (_growing(case, name) for name in names)
    return [growing for growing in found if growing is not None]


def is_users(type_name: str) -> bool:
    """Return true for a class of the watched program: not builtin, standard or a framework's."""
    root, dot, _ = type_name.partition(".")
    standard = sys.stdlib_module_names - {"__main__"}
    return bool(dot) and root not in standard and root not in _FRAMEWORKS


def _growing(case: Case, name: str) -> Growth | None:
    series = case.timeline.best_series(name, count_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    watched = _last_watched(case, name)
    # What the user vouches for is no warm-up: there the baseline counts as a round.
    vouched = watched is not None and watched.expected is not None
    judged = case.judge(series, integer=True, from_baseline=vouched)
    if judged.verdict.growing == "cannot tell" and "." in name:
        judged = _since_memory_grows(case, series) or judged
    if not judged.grows:
        return None
    verdict = judged.verdict
    return Growth(
        "type",
        name,
        KINDS.get(name, "instances" if "." in name or watched else "container"),
        type=name,
        rate=verdict.rate,
        bytes_rate=_bytes_rate(case, series),
        interval=verdict.interval,
        since=judged.started_at,
        judged=judged,
        contribution=case.type_share(name, judged.started_at),
        watched=watched,
        evidence=(f"the count grows by {format_number(verdict.rate)} a generation",),
        confidence=verdict.confidence,
        ruled_out=(f"not filling up and no warm-up: {verdict.reason}",),
    )


def _since_memory_grows(case: Case, series: Series) -> Judged | None:
    """Judge the looks since live memory grows: before, as many lived as the look before has seen.

    Few looks cannot tell when a count began to rise; the memory of every generation can.
    """
    memory = case.memory()
    start = None if memory is None or not memory.grows else memory.started_at
    looks = zip(series.generations, series.values, strict=True)
    before = [value for at, value in looks if start is not None and at < start]
    if start is None or not before:
        return None
    later = slice(len(before), None)
    at, values = series.generations[later], series.values[later]
    since = replace(series, generations=(start - 1, *at), values=(before[-1], *values))
    verdict = case.judge(since, integer=True).verdict
    if len(at) < 2:
        return None
    return Judged(replace(series, baseline=None), replace(verdict, started=start))


def _last_watched(case: Case, name: str) -> Watched | None:
    seen = (s.watched.get(name) for s in reversed(case.run.snapshots))
    return next((watched for watched in seen if watched is not None), None)


def _bytes_rate(case: Case, counts: Series) -> float | None:
    series = case.timeline.series(counts.name, bytes_reader(counts.name), counts.phase, "bytes")
    return slope(series.generations, series.values) if len(series) > 1 else None
