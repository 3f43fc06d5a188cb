"""How long this process could have run and had no processor: the time that other programs took."""

from __future__ import annotations

import os
import time

from leakguard.alarm import pass_on

#: CPU time, time in the queue, both in nanoseconds, and turns; of the process's first thread.
#: Source: Documentation/scheduler/sched-stats.rst of the Linux kernel.
_STATISTICS = "/proc/self/schedstat"
_NANOSECONDS = 1e9


def queued_seconds() -> float:
    """Return for how long the main thread has waited for a processor; 0 where nobody tells.

    A sleep, a lock or a file that is waited for is not part of it. Reading takes 4 µs; the file is
    opened anew, since a fork has its own.
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
    """Return seconds that pass only while the process runs, or waits for what it asked for."""
    return time.perf_counter() - queued_seconds()
