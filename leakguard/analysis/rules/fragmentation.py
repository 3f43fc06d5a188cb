"""Freed memory that the C allocator keeps, more of it every generation."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.metric_finding import metric_finding
from leakguard.model import Cleared, Finding
from leakguard.model.units import format_bytes, format_change

_NOTABLE = 1_000_000  # bytes a generation
_FLAT = 0.2  # of what is held: how much live memory may grow beside it
_THREADS = 16
_MANY_ARENAS = (
    "each thread has an arena of its own: start with MALLOC_ARENA_MAX=2, or use fewer threads"
)
_TRIM = (
    "call malloc_trim(0) (ctypes.CDLL(None).malloc_trim(0)) after the phase, start with "
    "MALLOC_TRIM_THRESHOLD_=100000, or run with another allocator (LD_PRELOAD of jemalloc or "
    "mimalloc); reuse buffers instead of making many of mixed sizes"
)


def fragmentation(case: Case, found: Sequence[Finding | Cleared]) -> list[Finding | Cleared]:
    """Report held memory that grows while live memory does not; it is freed, and counts in RSS."""
    held, live, rss = (case.metric(name) for name in ("heap_held", "heap_in_use", "rss"))
    if held is None or live is None or rss is None or not held.grows:
        return []
    rate = held.verdict.rate
    if rate < _NOTABLE or live.verdict.rate > _FLAT * rate or rss.verdict.growing == "no":
        return []
    return [_finding(case, held, live)]


def _finding(case: Case, held: Judged, live: Judged) -> Finding:
    threads = case.metric("threads")
    many = threads is not None and threads.series.values[-1] >= _THREADS
    return metric_finding(
        case,
        held,
        "heap_held",
        kind="fragmentation",
        name=("fragmentation",),
        verdict="suspect",
        reason=f"the C allocator holds {format_change(held.verdict.rate)} more freed memory each "
        f"generation, {format_bytes(held.series.values[-1])} by now, and RSS grows with it; live "
        f"memory does not ({format_change(live.verdict.rate)})",
        fix=_MANY_ARENAS if many else _TRIM,
        ruled_out=("no leak: the program has freed it",),
    )
