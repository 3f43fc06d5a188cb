"""What a loop can run under."""

from __future__ import annotations

import contextlib
from pathlib import Path

GUARDED = "guarded"
PURE = "guarded-pure"
ALONE = "unguarded"
VARIANTS = {
    GUARDED: "leakguard, default guard",
    PURE: "leakguard, without the compiled scan",
    ALONE: "nothing: the loop alone, twice",
    "memray": "memray, default tracker",
    "tracemalloc-1": "tracemalloc, 1 frame",
    "tracemalloc-10": "tracemalloc, 10 frames",
}
#: Those that a guard watches.
WATCHED = (GUARDED, PURE)


def tracer(variant: str, folder: Path) -> contextlib.AbstractContextManager[object]:
    """Return what traces every allocation meanwhile, or nothing for the other variants."""
    if variant == "memray":
        import memray

        return memray.Tracker(folder / "allocations.bin")
    if variant.startswith("tracemalloc"):
        import tracemalloc

        tracemalloc.start(int(variant.rpartition("-")[2]))
    return contextlib.nullcontext()
