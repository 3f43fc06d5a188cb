"""Bytes of this process, as Linux tells them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def status(name: str) -> int:
    """A number of bytes from /proc/self/status, for example `VmRSS` or `RssAnon`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"this system does not tell {name}; the benchmark needs Linux")


def reset_peak() -> None:
    """Set the high-water mark of resident memory back to what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def cost(call: Callable[[], object]) -> tuple[float, int]:
    """Seconds, and the peak of resident memory above where it began."""
    reset_peak()
    before = status("VmRSS")
    began = time.perf_counter()
    call()
    return time.perf_counter() - began, max(0, status("VmHWM") - before)
