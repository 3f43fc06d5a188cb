"""A phase that briefly needs much more memory than before and after: no leak, but a warning.

For example, a checkpoint that is pickled and compressed whole takes twice its size. A peak can end
a run as surely as a leak does.
"""

from __future__ import annotations

from statistics import median

from leakguard.analysis.case import Case
from leakguard.analysis.facts.measured import BriefPeak
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import AT_BRINK, LARGE, MAJORITY, REPEATED, SEEN_AGAIN
from leakguard.model import Snapshot


def peaks(case: Case) -> list[Growth]:
    """Return each phase whose peak was far above its start and its end, at least twice.

    In a run without phases, whole generations are examined.
    """
    named = [s for s in case.timeline.stations if s is not None and not _has_inner(case, s)]
    stations: list[str | None] = [*named] or [None]
    judged = (_judge(case, station) for station in stations)
    return [growth for growth in judged if growth is not None]


def _has_inner(case: Case, station: str) -> bool:
    names = (name for name in case.timeline.stations if name is not None)
    return any(name.startswith(station + "/") for name in names)


def _judge(case: Case, station: str | None) -> Growth | None:
    snapshots = case.timeline.at(station)
    excess = {g: over for g, s in snapshots.items() if (over := _excess(s)) is not None}
    high = {g: over for g, over in excess.items() if _is_high(case, snapshots[g], over)}
    if len(high) < REPEATED:
        return None
    return _growth(station, snapshots, high)


def _excess(snapshot: Snapshot) -> float | None:
    """Return by how much the peak exceeds the start and the end of the phase.

    Memory that the allocator keeps free counts as returned.
    """
    start, end = snapshot.entry.get("rss"), snapshot.metrics.get("rss")
    top = snapshot.metrics.get("peak")
    if top is None or start is None or end is None:
        return None
    kept = snapshot.metrics.get("heap_held", 0) - snapshot.entry.get("heap_held", 0)
    return top - max(start, end - max(0, kept))


def _is_high(case: Case, snapshot: Snapshot, over: float) -> bool:
    """Return whether a peak is high beside the memory at the start, or near the limit."""
    held, limit = snapshot.entry.get("rss", 0), case.run.info.memory_limit
    near = limit is not None and snapshot.metrics.get("peak", 0) >= AT_BRINK * limit
    return over >= LARGE and (over >= MAJORITY * held or near)


def _growth(station: str | None, snapshots: dict[int, Snapshot], high: dict[int, float]) -> Growth:
    worst = max(high, key=lambda generation: high[generation])
    shown, over = snapshots[worst], median(high.values())
    before, top = shown.entry.get("rss", 0), shown.metrics.get("peak", 0)
    measured = BriefPeak(station, over, len(high), len(snapshots), before, top, worst)
    return Growth(
        "peak",
        station or "a generation",
        "peak",
        pattern="transient",
        since=min(high),
        phase=station,
        worst="inconclusive",
        evidence=(Evidence("peak", measured),),
        confidence=SEEN_AGAIN,
        fix="peak",
        ruled_out=("peak freed",),
        shown=shown,
    )
