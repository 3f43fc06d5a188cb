"""How long this process could run but had no processor: the time that other programs took."""

from __future__ import annotations

import os
import time

from leakguard.alarm import pass_on

#: CPU time, time in the queue, both in nanoseconds, and turns; of the process's first thread.
#: Source: Documentation/scheduler/sched-stats.rst of the Linux kernel.
_STATISTICS = "/proc/self/schedstat"
_NANOSECONDS = 1e9


def queued_seconds() -> float:
    """Return how long the main thread has waited for a processor; 0 if it is unknown.

    Waiting for a sleep, a lock or a file does not count. Reading takes 4 µs. The file is opened
    anew each time, because a fork has its own.
    """
    try:
        descriptor = os.open(_STATISTICS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:  # not Linux, or a kernel or a sandbox without it
        pass_on(error)
        return 0.0
    try:
        return int(os.read(descriptor, 64).split()[1]) / _NANOSECONDS
    except (OSError, ValueError, IndexError) as error:
        pass_on(error)
        return 0.0
    finally:
        os.close(descriptor)


def program_clock() -> float:
    """Return seconds that pass only while the process runs, or waits for something of its own."""
    return time.perf_counter() - queued_seconds()
