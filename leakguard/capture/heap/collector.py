"""The garbage collector: its state, and how it is held back in a look or run to tell cycles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from gc import disable, enable, isenabled  # the program may have put doubles in their place
from typing import TypeVar

from leakguard.capture.heap.result import HeapCensus
from leakguard.capture.probe import Reading
from leakguard.model.census import Census
from leakguard.model.snapshot import Collection

T = TypeVar("T")

_holding: list[bool] = []  # what the program had switched on, while the guard holds it back


def program_collects() -> bool:
    """Return whether the program has automatic collection on, even while it is held back."""
    return _holding[0] if _holding else isenabled()


def other_threads_run() -> bool:
    """Return whether more threads than this one run Python code."""
    return len(sys._current_frames()) > 1


def may_collect() -> bool:
    """Return whether the guard may collect without freeing what only another thread may free.

    A program that has threads and has switched the collector off lets each thread clean up after
    itself. If the collector is on, it may run in any thread anyway.
    """
    return program_collects() or not other_threads_run()


def run_held(work: Callable[..., T], *args: object) -> T:
    """Run ``work`` with the collector held back, even if an interrupt comes.

    Interrupts come at the beginning of a function or after a call. So nothing is called before
    ``enable`` on the way out. A context manager could be interrupted before its first line.
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
    """Hold the collector back, so that a walk does not change what it looks at."""
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
    """Run ``work``, C code that only waits, with the collector as the program has it.

    Whatever it allocates would set the collector off, which was held back for a while. A thread of
    the program that switches the collector off meanwhile is heard.
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
    """Undo ``collector_held`` in a forked child, in which nothing else does."""
    if _holding and _holding[0]:
        enable()
    _holding.clear()


def take_collection(census: Callable[[], HeapCensus]) -> Collection:
    """Run one full collection between two censuses and return what it freed.

    Finalizers of the program run, as in any collection.
    """
    before, stuck = census().census, len(gc.garbage)
    unreachable = gc.collect()
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
    """Read what waits for the collector, what it gave up on, and whether it runs at all."""
    stats = gc.get_stats()
    return {
        "gc_pending": gc.get_count()[0],
        "gc_full_collections": stats[-1]["collections"],
        "gc_collected": sum(one["collected"] for one in stats),
        "gc_uncollectable": len(gc.garbage),
        "gc_frozen": gc.get_freeze_count(),
        "gc_enabled": int(program_collects()),
    }
