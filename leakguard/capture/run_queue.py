"""How long this process was ready to run but waited for a processor that others used."""

from __future__ import annotations

import time
from io import FileIO

from leakguard.alarm import pass_on

#: Three numbers of the process's main thread: CPU time in nanoseconds, time in the run queue in
#: nanoseconds, and the number of time slices.
#: Source: Documentation/scheduler/sched-stats.rst of the Linux kernel.
_STATISTICS = "/proc/self/schedstat"
_NANOSECONDS = 1e9


def queued_seconds() -> float:
    """Return how long the main thread has waited for a processor; 0 if it is unknown.

    Time in a sleep, or waiting for a lock or a file, does not count. Reading takes 4 µs. The file
    is opened anew each time, because a forked process has its own file.
    """
    try:
        with FileIO(_STATISTICS) as file:
            return int(file.read(64).split()[1]) / _NANOSECONDS
    except (OSError, ValueError, IndexError) as error:  # a system or a sandbox without it
        pass_on(error)
        return 0.0


def program_clock() -> float:
    """Return elapsed seconds without the time in the run queue.

    This clock passes while the process runs, sleeps, or waits for a lock or a file.
    """
    return time.perf_counter() - queued_seconds()
