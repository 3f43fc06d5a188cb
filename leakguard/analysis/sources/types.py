"""Types whose live count grows, read from the censuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.proportion import rise_together
from leakguard.analysis.timeline import bytes_reader, count_reader
from leakguard.analysis.tolerance import MAJORITY
from leakguard.model import Watched
from leakguard.model.census import GRAPH_NODE
from leakguard.model.finding import Kind
from leakguard.model.metric import METRICS
from leakguard.model.series import Series
from leakguard.model.units import format_number

# Handles that torch makes when a tensor's storage is requested. They are ignored, because the
# storage itself is counted.
_HANDLES = frozenset({"torch.storage.UntypedStorage"})

KINDS: dict[str, Kind] = {
    "torch.Tensor": "tensors",
    "numpy.ndarray": "arrays",
    GRAPH_NODE: "autograd",
}


def types(case: Case) -> list[Growth]:
    """Return the types whose live count grows, each with its phases."""
    names = (name for name in case.timeline.changing_types() if name not in _HANDLES)
    found = (_growing(case, name) for name in names)
    return [growing for growing in found if growing is not None]


def _growing(case: Case, name: str) -> Growth | None:
    series = case.timeline.best_series(name, count_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    watched = _last_watched(case, name)
    # If the user expects a certain number of instances, it holds from the first generation on,
    # without a warm-up. The baseline is then judged like a generation.
    vouched = watched is not None and watched.expected is not None
    judged = case.judge(series, integer=True, from_baseline=vouched)
    if judged.verdict.growing != "no" or series.values[-1] > max(series.values[:-1]):
        judged = _completed(judged, _as_memory_does(case, series))
    if not judged.grows:
        return None
    verdict = judged.verdict
    return Growth(
        "type",
        name,
        KINDS.get(name, "instances" if "." in name or watched else "container"),
        type=name,
        rate=verdict.rate,
        bytes_rate=_bytes_rate(case, series, judged.started_at),
        interval=verdict.interval,
        since=judged.started_at,
        judged=judged,
        contribution=case.type_share(name, judged.started_at),
        watched=watched,
        evidence=(
            Evidence("count", f"the count grows by {format_number(verdict.rate)} per generation"),
        ),
        confidence=verdict.confidence,
        ruled_out=(f"not filling up and no warm-up: {judged.why}",),
    )


def _completed(judged: Judged, alike: Judged | None) -> Judged:
    """Return the verdict on a count, completed by live memory, which was read between the looks."""
    if alike is None or not judged.grows:
        return alike or judged
    started, start = judged.started_at, alike.started_at
    before = [at for at in judged.series.generations if started is not None and at < started]
    if started is None or start is None or not before or not before[-1] < start < started:
        return judged
    return Judged(alike.series, replace(judged.verdict, started=start))


def _as_memory_does(case: Case, series: Series) -> Judged | None:
    """Judge a count that rises in proportion to live memory by the verdict on memory; else None.

    With few looks, or looks in clusters, a count cannot show whether and since when it grows. Live
    memory can, because it is read in every generation. A builtin type must make up most of the
    memory's gain.
    """
    memory = case.memory()
    start = None if memory is None or not memory.grows else memory.started_at
    if memory is None or start is None:
        return None
    sizes = memory.series.by_generation
    counts = {look: count for look, count in series.by_generation.items() if look in sizes}
    looks = _looks_since(start, counts)
    if not rise_together([counts[g] for g in looks], [sizes[g] for g in looks]):
        return None
    first, last = looks[0], looks[-1]
    gained, lasted = sizes[last] - sizes[first], last - max(start - 1, first)
    if MAJORITY * gained > memory.verdict.rate * lasted:
        return None  # the last look is at a higher point of a tooth: most of the gain is garbage
    if "." not in series.name and _gained_bytes(case, series, first, last) < MAJORITY * gained:
        return None
    rate = (counts[last] - counts[first]) / lasted
    words = METRICS[memory.series.name].words
    told = replace(
        memory.verdict,
        rate=rate,
        interval=(rate, rate),
        started=start,
    )
    why = f"it rises as {words} does, of which {memory.why}"
    return Judged(replace(series, baseline=None), told, first=start, told=why)


def _looks_since(start: int, values: Mapping[int, float]) -> list[int]:
    """Return the looks from generation ``start`` on, and the last look before.

    The last look before is left out if its value is higher: it was at the tip of a tooth.
    """
    since = sorted(at for at in values if at >= start)
    before = sorted(at for at in values if at < start)[-1:]
    return [at for at in before if not since or values[at] <= values[since[0]]] + since


def _gained_bytes(case: Case, counts: Series, first: int, last: int) -> float:
    """Return a type's growth in bytes between two looks, from the snapshots that counted it."""
    series = case.timeline.series(counts.name, bytes_reader(counts.name), counts.phase, "bytes")
    sizes = series.by_generation
    return sizes.get(last, 0.0) - sizes.get(first, 0.0)


def _last_watched(case: Case, name: str) -> Watched | None:
    seen = (s.watched.get(name) for s in reversed(case.run.snapshots))
    return next((watched for watched in seen if watched is not None), None)


def _bytes_rate(case: Case, counts: Series, since: int | None) -> float | None:
    """Return a type's gain in bytes per generation since its growth began; None if unknown."""
    series = case.timeline.series(counts.name, bytes_reader(counts.name), counts.phase, "bytes")
    sizes = series.by_generation
    looks = _looks_since(min(since or 0, max(sizes, default=0)), sizes)
    if len(looks) < 2:
        return None
    began = max(looks[0], (since or 0) - 1)
    return (sizes[looks[-1]] - sizes[looks[0]]) / max(looks[-1] - began, 1)
