"""Metrics of the process that grow, in one table: live memory, mappings, handles, and more.

A row has the least rise worth a finding, the second metric that confirms the rise, and the fix.
``account`` decides what explains a rise.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.case import Case, Judged, slope
from leakguard.analysis.facts.fix import Advice
from leakguard.analysis.facts.harmless import FirstTouched, LittleOfMetric, ReserveOfAllocator
from leakguard.analysis.facts.measured import (
    GrowsInPools,
    HeldFree,
    MetricGrows,
    MoreFrozen,
    PagesCopied,
)
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.pace import daily
from leakguard.analysis.sources.metric_row import MetricRow, grows
from leakguard.analysis.timeline import GPU_MEMORY, LIVE_MEMORY
from leakguard.analysis.tolerance import (
    BYTES_FLOOR,
    MAJORITY,
    MANY_THREADS,
    MATERIAL_BYTES,
    NOTABLE_BYTES,
    OWN_SHARE,
    WENT_ON_SHARE,
    notable,
)


def metrics(case: Case) -> list[Growth]:
    """Return the metrics of the process that grow in every generation."""
    rows = (*ROWS, _memory_row(case))
    return [growth for row in rows if (growth := _growing(case, row)) is not None]


def _growing(case: Case, row: MetricRow) -> Growth | None:
    judged = _judged(case, row)
    if judged is None or not judged.grows or not row.applies(case, judged):
        return None
    last = judged.series.generations[-1]
    matters = notable(judged.verdict.rate, judged.started_at, last, row.least)
    if not matters and (row.metric in LIVE_MEMORY or not row.takes_ram):
        return None  # the balance of live memory reports this growth
    healthy = row.healthy(case, judged) if matters else _too_little(case, judged)
    in_bytes = judged.series.unit == "bytes"
    verdict, rate = judged.verdict, judged.verdict.rate
    return Growth(
        "metric",
        row.metric,
        row.kind,
        type=row.counts_as,
        rate=rate,
        unit=judged.series.unit,
        bytes_rate=rate if in_bytes and row.takes_ram else None,
        interval=verdict.interval,
        since=judged.started_at,
        counts=() if in_bytes else tuple(map(int, judged.series.values)),
        judged=judged,
        phase=case.contribution(row.metric, judged.started_at).main_phase(),
        exact=row.exact,
        worst=row.worst,
        evidence=(Evidence(row.metric, row.measured(case, judged)),),
        second=row.second,
        confidence=verdict.confidence,
        fix=row.metric if row.fix is None else row.fix(case, judged),
        ruled_out=row.ruled_out,
        healthy=healthy,
        pattern="filling" if matters and healthy is not None else "growing",
        in_pools=row.metric in LIVE_MEMORY and lost_in_pools(case),
    )


def _too_little(case: Case, judged: Judged) -> LittleOfMetric:
    """Return why growth of a number is no finding: it is told, with what it comes to in a day."""
    return LittleOfMetric(grows(case, judged), daily(case, judged.verdict.rate))


def _judged(case: Case, row: MetricRow) -> Judged | None:
    """Return the metric with its verdict, with the row's own noise floor if it has one."""
    if not row.floor and not row.integer:
        return case.metric(row.metric)
    series = case.timeline.metric(row.metric)
    if len(series) < 2:
        return None
    return case.judge(series, integer=row.integer, noise_floor=row.floor)


# -- fragmentation ---------------------------------------------------------------------------------


def _is_fragmentation(case: Case, held: Judged) -> bool:
    """True if RSS grows with memory held free, and live memory does not."""
    live, rss = case.memory(), case.metric("rss")
    if live is None or rss is None or rss.verdict.growing == "no":
        return False
    return live.verdict.rate <= WENT_ON_SHARE * held.verdict.rate


def _held_free(case: Case, held: Judged) -> HeldFree:
    live = case.memory()
    beside = None if live is None else live.verdict.rate
    return HeldFree(held.verdict.rate, held.series.values[-1], beside)


def _is_reserve(case: Case, held: Judged) -> ReserveOfAllocator | None:
    """Return why growth is no finding: an allocator keeps some of what is freed, to use it again.

    It is a reserve while it has gained less than a tenth of what is in use.
    """
    live, began = case.memory(), held.started_at
    if live is None or began is None:
        return None
    kept = held.verdict.rate * (held.series.generations[-1] - began)
    in_use = live.series.values[-1]
    if kept > OWN_SHARE * in_use:
        return None
    return ReserveOfAllocator(grows(case, held), held.series.values[-1], in_use)


def _held_fix(case: Case, held: Judged) -> Advice:
    threads = case.metric("threads")
    many = threads is not None and threads.series.values[-1] >= MANY_THREADS
    return "many arenas" if many else "held free"


# -- mappings ------------------------------------------------------------------------------------


def _is_mapped_evenly(case: Case, space: Judged) -> bool:
    """True if most generations map more; arenas and thread stacks are mapped in rare steps."""
    values = space.series.values
    rises = sum(later > before for before, later in pairwise(values))
    return rises >= MAJORITY * (len(values) - 1)


def _is_mapped_before(case: Case, shared: Judged) -> FirstTouched | None:
    """Return why growth of shared memory is no leak, if its pages lie in an old mapping; else None.

    An object store or a ring of buffers is mapped once, in its full size, and its pages are then
    touched one after another. A leak maps more address space as more memory is shared.
    """
    space = case.metric("vms")
    if space is None or _late_gain(space) >= _late_gain(shared) / 2:
        return None
    return FirstTouched(grows(case, shared))


def _late_gain(judged: Judged) -> float:
    """Return by how much a metric rose in the second half of the run."""
    values = judged.series.values
    return values[-1] - values[len(values) // 2]


# -- live memory -----------------------------------------------------------------------------------


def _is_copy_on_write(case: Case, private: Judged) -> bool:
    """True if existing pages become private: neither RSS nor live memory grows.

    Only forked processes, and processes watched from outside, are considered. In a process that
    forked others, pages also become private when these end.
    """
    info = case.run.info
    if not info.forked and info.observer is None:
        return False
    known = [case.metric("rss"), case.memory()]
    most = WENT_ON_SHARE * private.verdict.rate
    return all(one is not None and _slope(one) <= most for one in known)


def _slope(judged: Judged) -> float:
    """Return the mean gain of a metric per generation, from its first value to its last."""
    return slope(judged.series.generations, judged.series.values)


def _pages_copied(case: Case, private: Judged) -> PagesCopied:
    rss = case.metric("rss")
    return PagesCopied(grows(case, private), None if rss is None else rss.series.values[-1])


def lost_in_pools(case: Case) -> bool:
    """True if most of the growth of live memory lies in Python's small-object allocator."""
    memory, pools = case.metric("live_memory"), case.metric("python_in_use")
    if memory is None or pools is None or not pools.may_grow:
        return False
    return pools.verdict.rate >= MAJORITY * memory.verdict.rate > 0


def _memory_fix(case: Case, judged: Judged) -> Advice:
    if not case.counts_objects:
        return "not recorded"
    if case.timeline.let_go:
        return "let go"
    return "in pools" if lost_in_pools(case) else "native"


def _memory_grows(case: Case, judged: Judged) -> MetricGrows | GrowsInPools:
    found = grows(case, judged)
    return GrowsInPools(found) if case.counts_objects and lost_in_pools(case) else found


# Metrics that may confirm the allocators' numbers: RAM, address space, and number of blocks.
_BESIDE_ALLOCATORS = ("rss", "vms", "python_blocks", "rss_in_use")


def _memory_row(case: Case) -> MetricRow:
    """Return the row of the metric that best shows whether live memory grows.

    An arena that doubles takes memory in ever larger steps, which hide the growth. RAM shows how
    much of the arena is used.
    """
    memory, touched = case.memory(), case.metric("rss_anonymous")
    if memory is None:
        return _live_memory(LIVE_MEMORY[0])
    name, in_steps = memory.series.name, memory.verdict.shape == "step" and memory.may_grow
    if (
        in_steps
        and touched is not None
        and touched.grows
        and _rise(memory) >= MAJORITY * _rise(touched)
    ):
        return replace(_live_memory("rss_anonymous"), second=(name,))
    return _live_memory(name)


def _rise(judged: Judged) -> float:
    return max(judged.series.values) - judged.series.values[0]


def _live_memory(metric: str) -> MetricRow:
    """Return the row of the best metric of live memory; RSS itself has no second metric."""
    return MetricRow(
        metric,
        "gpu" if metric == GPU_MEMORY else "native",
        fix=_memory_fix,
        least=NOTABLE_BYTES,
        floor=BYTES_FLOOR,
        second=_BESIDE_ALLOCATORS if metric in ("live_memory", "heap_in_use") else (),
        measured=_memory_grows,
    )


def _is_beside_memory(case: Case, gpu: Judged) -> bool:
    """True unless the driver's number is the run's only memory metric, or torch reports its own."""
    memory = case.memory()
    alone = memory is not None and memory.series.name == GPU_MEMORY
    return not alone and case.metric("gpu_allocated") is None


# -- the collector ---------------------------------------------------------------------------------


def _more_frozen(case: Case, frozen: Judged) -> MoreFrozen:
    return MoreFrozen(frozen.verdict.rate, frozen.series.values[-1])


ROWS = (
    MetricRow(
        "gpu_allocated",
        "gpu",
        second=("gpu_reserved",),
    ),
    MetricRow(
        GPU_MEMORY,
        "gpu",
        least=NOTABLE_BYTES,
        applies=_is_beside_memory,
    ),
    MetricRow(
        "threads",
        "threads",
        integer=True,
        exact=True,
        counts_as="threads",
    ),
    MetricRow(
        "open_files",
        "files",
        integer=True,
        exact=True,
        counts_as="open_files",
    ),
    MetricRow(
        "children",
        "children",
        integer=True,
        exact=True,
        counts_as="children",
    ),
    MetricRow(
        "rss_shared",
        "native",
        least=NOTABLE_BYTES,
        second=("open_files", "rss"),
        counts_as="shared memory",
        healthy=_is_mapped_before,
    ),
    MetricRow(
        "private",
        "copy-on-write",
        least=NOTABLE_BYTES,
        second=("pss",),
        measured=_pages_copied,
        applies=_is_copy_on_write,
    ),
    MetricRow(
        "address_space",
        "native",
        least=NOTABLE_BYTES,
        floor=BYTES_FLOOR,
        exact=True,
        takes_ram=False,
        applies=_is_mapped_evenly,
    ),
    MetricRow(
        "mapped",
        "native",
        least=NOTABLE_BYTES,
        floor=MATERIAL_BYTES,
        second=("rss",),
        ruled_out=("not held free",),
    ),
    MetricRow(
        "heap_held",
        "fragmentation",
        fix=_held_fix,
        least=MATERIAL_BYTES,
        worst="suspect",
        measured=_held_free,
        applies=_is_fragmentation,
        healthy=_is_reserve,
        ruled_out=("already freed",),
    ),
    MetricRow(
        "gc_frozen",
        "cycles",
        integer=True,
        counts_as="frozen objects",
        second=LIVE_MEMORY[:2],
        measured=_more_frozen,
    ),
    MetricRow(
        "gc_uncollectable",
        "cycles",
        integer=True,
        exact=True,
        counts_as="objects in gc.garbage",
    ),
)  # fmt: skip
