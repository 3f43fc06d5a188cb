"""All threads of a process stopped for a moment, so that its memory is at rest.

The kernel lets them go on when whoever stopped them goes away, whatever the reason: a tool that is
killed here leaves nothing behind. Nothing but that is asked of ``ptrace``.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from leakguard.errors import UsageError

# Source: <linux/ptrace.h>, <linux/wait.h>.
_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_ALL_KINDS = 0x40000000  # __WALL
_EVENT_STOP = 128
# Seconds that a thread may take to stop: one that waits for a disk cannot before it has answered.
_LONGEST_STOP = 2.0


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop all threads of a process while the block runs, which takes no time of its own.

    Raises:
        UsageError: they cannot be stopped; they all run.
    """
    threads: dict[int, int] = {}  # with the signal that each was just being given
    try:
        while new := _threads(pid) - threads.keys():  # one that still runs may begin another
            for thread in new:
                _stop(pid, thread, threads)
        yield
    finally:
        for thread, signal in threads.items():
            _ask(_DETACH, thread, signal)


def _threads(pid: int) -> set[int]:
    try:
        return set(map(int, os.listdir(f"/proc/{pid}/task")))  # noqa: PTH208 - names only
    except OSError:
        raise UsageError(f"process {pid} has ended") from None


def _stop(pid: int, thread: int, threads: dict[int, int]) -> None:
    problem = _ask(_SEIZE, thread)
    if problem == 3:  # ESRCH: it has just ended
        threads[thread] = 0
        return
    if problem:
        raise UsageError(
            f"process {pid} cannot be stopped: {os.strerror(problem)}; another debugger may be "
            "attached to it"
        )
    threads[thread] = 0
    _ask(_INTERRUPT, thread)
    deadline = time.monotonic() + _LONGEST_STOP
    while True:
        number, status = os.waitpid(thread, os.WNOHANG | _ALL_KINDS)
        if number:
            break
        if time.monotonic() > deadline:
            raise UsageError(f"a thread of process {pid} waits for a device, and does not stop")
        time.sleep(0.0002)
    if os.WIFSTOPPED(status) and status >> 16 != _EVENT_STOP:
        threads[thread] = os.WSTOPSIG(status)  # it is given it when it goes on


def _ask(request: int, thread: int, data: int = 0) -> int:
    """Return 0, or the number of the error."""
    library = ctypes.CDLL(None, use_errno=True)
    ask = library.ptrace
    ask.argtypes, ask.restype = [ctypes.c_long] * 4, ctypes.c_long
    return ctypes.get_errno() if ask(request, thread, 0, data) == -1 else 0
