"""Memory that no allocator gave out: mapped by native code, and kept."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.metric_finding import metric_finding
from leakguard.analysis.rules.gauges import filling_gauges
from leakguard.analysis.series import judge_series
from leakguard.model import Cleared, Finding, Snapshot
from leakguard.model.units import format_bytes, format_change

# Arenas and stacks are mapped by the megabyte, and freed pages come back late.
_NOISE = 1_000_000
_MOST = 0.5  # of the growth in bytes, for other findings to be its explanation
_METRIC = "rss_anonymous"
_ALLOCATED = ("heap_in_use", "heap_held", "python_in_use", "python_held")
_EXPLAINED_BY = frozenset({"threads", "gpu"})  # stacks, and buffers on the host


def mapped(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report anonymous memory that grows beside everything the allocators account for."""
    judged = _judge(case)
    if judged is None or not judged.grows or judged.verdict.rate < _NOISE / 4:
        return []
    findings = [item for item in found if isinstance(item, Finding)]
    named = sum(item.bytes_per_generation or 0.0 for item in found)
    if named >= _MOST * judged.verdict.rate or filling_gauges(case, found):
        return []
    if any(f.kind in _EXPLAINED_BY or _is_mapping(f.type) for f in findings):
        return []
    return [_finding(case, judged)]


def _is_mapping(type_name: str | None) -> bool:
    return type_name in ("mmap.mmap", "multiprocessing.shared_memory.SharedMemory")


def _beside(snapshot: Snapshot) -> float | None:
    values = [snapshot.metrics.get(name) for name in (_METRIC, *_ALLOCATED)]
    if None in values:
        return None
    anonymous, *allocated = (value or 0 for value in values)
    return max(anonymous - sum(allocated), 0)


def _judge(case: Case) -> Judged | None:
    series = case.timeline.best_series("mapped", _beside, "bytes")
    if len(series) < 2:
        return None
    return Judged(series, judge_series(series.values, noise_floor=_NOISE, describe=format_bytes))


def _finding(case: Case, judged: Judged) -> Finding:
    share, (low, high) = case.contribution(_METRIC, judged.started_at), judged.verdict.interval
    confirmed = share.by_phase.get(share.main_phase(), 0.0) > 0
    return metric_finding(
        case,
        judged,
        _METRIC,
        kind="native",
        name=("mapped",),
        verdict="leak" if confirmed else "suspect",
        reason=f"anonymous RSS grows by {format_change(judged.verdict.rate)} a generation "
        f"({format_bytes(low)} to {format_bytes(high)}) beside what the C allocator and Python's "
        "own have in use or hold: native code maps it",
        fix="look for native buffers and mappings that are never released: handles without a "
        "close() or free(), memory maps, decoders, contexts of C libraries",
        ruled_out=("no fragmentation: what the allocators hold free is not in it",),
    )
