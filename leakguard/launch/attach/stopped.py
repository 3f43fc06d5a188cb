"""Stops all threads of a process for a moment, so that its memory does not change.

The kernel continues the threads if this process ends for any reason, so no thread stays stopped.
``ptrace`` is used for two things: to stop threads, and to wake a thread that waits for a lock, as
any signal would.
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

# Requests of ptrace (<linux/ptrace.h>).
_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
# Requests of ptrace that read and set registers (PTRACE_GETREGSET and PTRACE_SETREGSET in
# <linux/ptrace.h>), and the number of the general registers (NT_PRSTATUS in <linux/elf.h>).
_GET_REGISTERS, _SET_REGISTERS, _GENERAL = 0x4204, 0x4205, 1
_ALL_KINDS = 0x40000000  # __WALL, an option of waitpid: threads, too; <linux/wait.h>
_EVENT_STOP = 128  # PTRACE_EVENT_STOP, the kind of stop that _INTERRUPT causes; <linux/ptrace.h>
# Seconds that a thread may take to stop. Chosen: a thread that waits for a disk stops only when the
# disk has answered.
_LONGEST_STOP = 2.0
# The 27 registers of a thread on x86-64, 8 bytes each (user_regs_struct in <sys/user.h>).
_REGISTERS = struct.Struct("<27q")
# ``_RESULT`` is the position of rax among the registers, which has the result of a system call.
# ``_CALL`` is the position of orig_rax, which has the number of the system call. ``_FUTEX`` is the
# number of the system call futex on x86-64.
_RESULT, _CALL, _FUTEX = 10, 15, 202
# ``_RESTART``: the results of an interrupted system call that the kernel would make again
# (ERESTARTSYS, ERESTART_RESTARTBLOCK). ``_INTERRUPTED``: the result that is set instead (EINTR), so
# that the thread sees the interruption. ``_NO_CALL``: the value that is set in orig_rax, so that
# the kernel does not repeat the call.
_RESTART, _INTERRUPTED, _NO_CALL = (-512, -516), -4, -1


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop all threads of a process while the block runs; the block should be short.

    Raises:
        UsageError: not all threads could be stopped; then all of them run again.
    """
    threads: dict[int, int] = {}  # by thread, the signal to deliver when the thread continues
    try:
        while new := _threads(pid) - threads.keys():  # a running thread may start another
            for thread in new:
                _stop(pid, thread, threads)
        yield
    finally:
        for thread, signal in threads.items():
            _ask(_DETACH, thread, signal)


def interrupt_wait(thread: int) -> None:
    """If a stopped thread waits for a lock, end its wait, so that it makes pending calls.

    A wait by ``futex`` may end without a reason at any time, so programs expect this. After each
    wait, Python's locks make pending calls and then wait again. The registers are set in one step
    of the kernel, so the change is whole or does not happen. On other machines than x86-64, the
    wait is left as it is.
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
    if problem == 3:  # ESRCH: the thread has just ended
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
        threads[thread] = os.WSTOPSIG(status)  # delivered when the thread continues


def _ask(request: int, thread: int, data: int = 0, address: int = 0) -> int:
    """Make a request of ptrace for one thread; return 0, or the number of the error."""
    library = ctypes.CDLL(None, use_errno=True)
    ask = library.ptrace
    ask.argtypes, ask.restype = [ctypes.c_long] * 4, ctypes.c_long
    return ctypes.get_errno() if ask(request, thread, address, data) == -1 else 0
