"""What a loop can run under."""

from __future__ import annotations

import contextlib
from pathlib import Path

GUARDED = "guarded"
ALONE = "unguarded"
VARIANTS = {
    GUARDED: "leakguard, default guard",
    ALONE: "nothing: the loop alone, twice",
    "memray": "memray, default tracker",
    "tracemalloc-1": "tracemalloc, 1 frame",
    "tracemalloc-10": "tracemalloc, 10 frames",
}


def tracer(variant: str, folder: Path) -> contextlib.AbstractContextManager[object]:
    """Return what traces every allocation meanwhile, or nothing for the other variants."""
    if variant == "memray":
        import memray

        return memray.Tracker(folder / "allocations.bin")
    if variant.startswith("tracemalloc"):
        import tracemalloc

        tracemalloc.start(int(variant.rpartition("-")[2]))
    return contextlib.nullcontext()
