"""What the C allocator does with the memory of an update's temporaries."""

from __future__ import annotations

import ctypes
import os

# The parameters of mallopt(3), and the largest threshold that glibc takes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK = 32 << 20
_KEPT = 128 << 20
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Let the C allocator of this process keep up to 128 MB that are free, for the next update.

    Every update takes and frees 100 MB at the full size. How much of that glibc hands back to the
    system each time depends on where the blocks happen to lie: none, or 500,000 page faults a
    generation, a twentieth of its time. What the user set in the environment stays. False where
    nothing was changed, such as without glibc.
    """
    if any(name in os.environ for name in _OF_THE_USER):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or none to ask
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK) and mallopt(_TRIM_THRESHOLD, _KEPT))
