"""The garbage collector: reading its state, holding it back in a look, running it for cycles."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gc import collect, disable, enable, isenabled  # early: the program may later mock these
from typing import TypeVar

from leakguard.capture.heap.frames import other_threads_run
from leakguard.capture.heap.result import HeapCensus
from leakguard.capture.probe import Reading
from leakguard.model.census import Census
from leakguard.model.snapshot import Collection

T = TypeVar("T")

# While the guard holds the collector back, one entry per hold: whether it was on before.
_holding: list[bool] = []


def program_collects() -> bool:
    """Return whether the program has automatic collection on; the guard's holds do not count."""
    return _holding[0] if _holding else isenabled()


def may_collect() -> bool:
    """Return whether the guard may run the collector in its thread.

    A program with threads that has switched the collector off may rely on each thread freeing its
    own objects, so the guard must not collect. If the collector is on, it may run in any thread
    anyway.
    """
    return program_collects() or not other_threads_run()


def run_held(work: Callable[..., T], *args: object) -> T:
    """Run ``work`` with the collector held back; an interrupt never leaves it switched off.

    Python handles interrupts at the beginning of a function or after a call. Therefore nothing is
    called before ``enable`` on the way out. A context manager would not do, because it could be
    interrupted before its first line.
    """
    collecting, outer = isenabled(), len(_holding)
    try:
        disable()
        _holding.append(collecting)
        return work(*args)
    finally:
        switched_off = _holding[outer:] == [False]
        del _holding[outer:]
        if collecting and not switched_off:
            enable()


@contextmanager
def collector_held() -> Iterator[None]:
    """Hold the collector back in the block, so that it frees nothing during a walk."""
    collecting, outer = isenabled(), len(_holding)
    try:
        disable()
        _holding.append(collecting)
        yield
    finally:
        del _holding[outer:]
        if collecting:
            enable()


def run_released(work: Callable[..., T], *args: object) -> T:
    """Run ``work`` with the collector switched as the program has it.

    ``work`` must be C code that only waits: because the collector was held back for a while, any
    allocation of ``work`` would start a collection. If a thread of the program switches the
    collector off meanwhile, it stays off after the hold.
    """
    if not (_holding and _holding[0]):
        return work(*args)
    try:
        enable()
        return work(*args)
    finally:
        _holding[0] = isenabled()
        disable()


def give_back_collector() -> None:
    """Undo ``collector_held`` in a forked child, where the end of its block is never reached."""
    if _holding and _holding[0]:
        enable()
    _holding.clear()


def take_collection(census: Callable[[], HeapCensus], counted: Census | None = None) -> Collection:
    """Run one full collection between two censuses and return what it freed.

    Finalizers of the program run, as in any collection. ``counted`` is what a census has just
    counted: it is the first of the two, unless other threads have run since.
    """
    known = None if other_threads_run() else counted
    before, stuck = known or census().census, len(gc.garbage)
    unreachable = collect()
    uncollectable = len(gc.garbage) - stuck
    after = census().census
    return Collection(
        freed=unreachable - uncollectable,
        uncollectable=uncollectable,
        bytes=max(0, (before.bytes or 0) - (after.bytes or 0)),
        types=_fewer(before, after),
    )


def _fewer(before: Census, after: Census) -> dict[str, int]:
    gone = {name: entry.count - (after.count(name) or 0) for name, entry in before.types.items()}
    freed = ((name, count) for name, count in gone.items() if count > 0)
    return dict(sorted(freed, key=lambda entry: -entry[1]))


def collector_state() -> Reading:
    """Read the collector's counts of pending, collected, uncollectable and frozen objects.

    Also read its number of full collections, and whether automatic collection is on.
    """
    stats = gc.get_stats()
    return {
        "gc_pending": gc.get_count()[0],
        "gc_full_collections": stats[-1]["collections"],
        "gc_collected": sum(one["collected"] for one in stats),
        "gc_uncollectable": len(gc.garbage),
        "gc_frozen": gc.get_freeze_count(),
        "gc_enabled": int(program_collects()),
    }
