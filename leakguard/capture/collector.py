"""The state of Python's garbage collector, read without running it."""

from __future__ import annotations

import gc

from leakguard.capture.heap.collector import program_collects
from leakguard.capture.probe import Reading


def collector_state() -> Reading:
    """Read what waits for the collector, what it gave up on, and whether it runs at all."""
    return {
        "gc_pending": gc.get_count()[0],
        "gc_full_collections": gc.get_stats()[-1]["collections"],
        "gc_uncollectable": len(gc.garbage),
        "gc_frozen": gc.get_freeze_count(),
        "gc_enabled": int(program_collects()),
    }
