"""Time a phase boundary without a guard, and with one, beside psutil's readings of the same memory.

Run with ``python -m regression_tests.benchmarks.boundary``; all kinds alternate in one process.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import psutil

from leakguard import LeakGuard, phase
from leakguard.capture.recorder import BOUNDARY_PROBES

ROUNDS = 15
CALLS = 400
WRITTEN = 20


@phase("work")
def decorated() -> None:
    """Do nothing, in a phase."""


def plain() -> None:
    """Do nothing."""


def microseconds(call: Callable[[], object]) -> float:
    """Return the CPU time of one call, over many."""
    start = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - start) / CALLS * 1e6


def watched(call: Callable[[], object]) -> float:
    """Return the time of a phase that is measured; its first runs, which are written, left out."""
    with LeakGuard(max_overhead=0.01) as guard:
        for _ in guard.generations(range(1)):
            for _ in range(WRITTEN):
                call()
            took = microseconds(call)
    return took


def main() -> None:
    """Print a table of medians in microseconds."""
    process = psutil.Process()
    cases: dict[str, Callable[[], object]] = {
        "plain call": plain,
        "decorated call, no guard active": decorated,
        "phase with guard active": decorated,
        "psutil memory_info": process.memory_info,
        "psutil memory_full_info": process.memory_full_info,
    }
    cases |= {f"probe {name}": _quietly(probe) for name, probe in BOUNDARY_PROBES}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, call in cases.items():
            times[name].append(
                microseconds(call) if name != "phase with guard active" else watched(call)
            )
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"CPython {version}, CPU time a call, median of {ROUNDS} x {CALLS} calls\n")
    print("| what | µs |\n|---|---|")
    for name, values in times.items():
        print(f"| {name} | {statistics.median(values):.2f} |")


def _quietly(probe: Callable[[], object]) -> Callable[[], object]:
    def read() -> None:
        try:
            probe()
        except Exception:  # a probe that is unavailable here costs what it costs to say so
            return

    return read


if __name__ == "__main__":
    main()
