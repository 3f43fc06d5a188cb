"""Other tools that trace the allocations of this process."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

_LOADED_WHERE_THEY_TRACE = ("scalene", "filprofiler")


def tracer_at_work() -> str | None:
    """Return the name of a tool whose tracing a copy of the process would disturb; None without.

    ``tracemalloc`` does not count: its data lie in the process's own memory, so the copy has its
    own.
    """
    if is_traced_by_memray():
        return "memray"
    loaded = next((name for name in _LOADED_WHERE_THEY_TRACE if name in sys.modules), None)
    # A debugging allocator puts its own header before each block. So the C library would not know a
    # block by its address, and a copy of the process could not ask it for the block's size.
    debugs = "debug" in os.environ.get("PYTHONMALLOC", "") or bool(sys.flags.dev_mode)
    return loaded or ("a debugging allocator" if debugs else None)


def is_traced_by_memray() -> bool:
    """Return whether a tracker of memray traces this process."""
    memray = sys.modules.get("memray")
    return memray is not None and _profiled_by(memray)


def _profiled_by(memray: Any) -> bool:
    # A running tracker sets this hook for new threads; there is no other sign of one.
    return getattr(threading, "_profile_hook", None) is getattr(memray, "start_thread_trace", 0)
