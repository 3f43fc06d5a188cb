"""All threads of a process stopped for a moment, so that its memory is at rest.

The kernel lets them go on when whoever stopped them goes away, whatever the reason: a tool that is
killed here leaves nothing behind. Nothing but that is asked of ``ptrace``, and that a thread which
waits for a lock tries again, as after any signal.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from leakguard.errors import UsageError

# Source: <linux/ptrace.h>, <linux/wait.h>, <linux/elf.h>.
_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_GET_REGISTERS, _SET_REGISTERS, _GENERAL = 0x4204, 0x4205, 1
_ALL_KINDS = 0x40000000  # __WALL
_EVENT_STOP = 128
# Seconds that a thread may take to stop: one that waits for a disk cannot before it has answered.
_LONGEST_STOP = 2.0
# On x86-64: the registers (<sys/user.h>), where among them the result and the number of a system
# call are, the number of futex, its results that mean "once more", and "interrupted".
_REGISTERS = struct.Struct("<27q")
_RESULT, _CALL, _FUTEX = 10, 15, 202
_RESTART, _INTERRUPTED, _NO_CALL = (-512, -516), -4, -1


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


def interrupt_wait(thread: int) -> None:
    """Have a stopped thread that waits for a lock look around before it waits again.

    Whoever waits by ``futex`` must expect to be woken for no reason; Python's locks make pending
    calls then. It is one step of the kernel's: done, or not done.
    """
    if platform.machine() != "x86_64":
        return
    room = ctypes.create_string_buffer(_REGISTERS.size)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(room), _REGISTERS.size)
    at = ctypes.addressof(vector)
    if _ask(_GET_REGISTERS, thread, at, _GENERAL) or vector[1] != _REGISTERS.size:
        return
    registers = list(_REGISTERS.unpack(room.raw))
    if registers[_CALL] == _FUTEX and registers[_RESULT] in _RESTART:
        registers[_RESULT], registers[_CALL] = _INTERRUPTED, _NO_CALL
        room.raw = _REGISTERS.pack(*registers)
        _ask(_SET_REGISTERS, thread, at, _GENERAL)


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


def _ask(request: int, thread: int, data: int = 0, address: int = 0) -> int:
    """Return 0, or the number of the error."""
    library = ctypes.CDLL(None, use_errno=True)
    ask = library.ptrace
    ask.argtypes, ask.restype = [ctypes.c_long] * 4, ctypes.c_long
    return ctypes.get_errno() if ask(request, thread, address, data) == -1 else 0
