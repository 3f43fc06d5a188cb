"""What the C allocator does with the memory of an update's temporaries."""

from __future__ import annotations

import ctypes
import os

# The parameters of mallopt(3), and the largest threshold that glibc takes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK = 32 << 20
_LEAST = 32 << 20
_TIMES = 4
_MOST = (1 << 31) - 1  # mallopt takes an int
_OF_THE_USER = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory(gradients: int) -> bool:
    """Let the C allocator of this process keep what an update frees, for the next one.

    It keeps up to four times ``gradients``, the bytes of all gradients, and 32 MB at least. An
    update of the full size takes and frees one and a half times as much. How much of that glibc
    hands back to the system each time depends on where the blocks happen to lie: none, or 500,000
    page faults a generation, a twentieth of its time; where it keeps twice the gradients, still
    20,000 by chance. What the user set in the environment stays. False where nothing was changed,
    such as without glibc.
    """
    if any(name in os.environ for name in _OF_THE_USER):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library, or none to ask
        return False
    kept = min(max(_TIMES * gradients, _LEAST), _MOST)
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK) and mallopt(_TRIM_THRESHOLD, kept))
