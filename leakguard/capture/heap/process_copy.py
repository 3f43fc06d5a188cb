"""A copy of this process that does some work while the process continues.

The copy is made by a bare ``clone`` without an exit signal (``scan/copy.c``), not by ``os.fork``.
No atfork handler runs, so the thread pools of BLAS and OpenMP keep working. Neither ``wait()`` nor
SIGCHLD reports the copy to the program.

The price is that locks which other threads hold at that moment stay locked in the copy. A look
always needs two of these locks; ``scan/copy.c`` handles both. A copy that waits for another lock
hangs. The process detects this because the copy sleeps, which a look never does.

Python code may run in the copy: the thread that makes the copy holds the global interpreter lock,
and it is the only thread in the copy. So the copy can take a whole look, with the walk and the
names.

Nothing that happens in the copy affects this process. A crash of the copy becomes a ``CopyFailed``.
The copy closes all files of the process, so that the program's pipes, ports and file locks end when
the program closes them.

No copy is made if it could do harm: with musl or an old glibc, if the system does not overcommit
memory, or if an old kernel would separate a device from the memory that it writes to. Three effects
remain. The copy counts against limits on the number of processes. Tools that list the children of
the process show the copy. If the process replaces itself by exec, the copy stays as a zombie.

The answer comes back through shared memory. Its length and checksum are written last, so that an
incomplete answer is recognized. Shared memory needs no file descriptor, which the program might
count.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from io import FileIO  # imported early: the program may later replace ``open`` and these by mocks
from os import getpid, kill, wait4
from resource import RUSAGE_SELF, getrusage
from sys import setprofile, settrace
from time import monotonic, sleep
from typing import Any, NoReturn

from leakguard.capture.headroom import copy_hindrance
from leakguard.capture.heap.collector import run_released
from leakguard.capture.probe import Unavailable, reason_of

try:
    from leakguard.capture.heap._scan import copy_process, is_over
except ImportError:  # not built here

    def is_over(number: int, seconds: float) -> bool:
        raise OSError("the compiled scan is not built here")

    def copy_process(
        most: int, address_space: int, seconds: float, longest: float, work: Callable[[], object]
    ) -> int:
        raise OSError("the compiled scan is not built here")


#: The process ids of running copies, which must not count as children of the program.
at_work: set[int] = set()
# The process ids of copies that were killed but have not exited yet.
_dying: set[int] = set()
# CPU seconds of all copies that have ended; and whether this process is itself a copy.
_spent = 0.0
_is_copy = False
# True in a copy in which no memory of before is used again.
_keeps_memory = False

# CPU seconds of one page fault of a page that a copy shared. Measured: 0.9 to 1.1 µs, with 400 MB
# written anew after each copy.
_SECONDS_A_FAULT = 1e-6
# Page faults of this process that copies before the last one caused; how many the last one may
# cause; and how many this process had had when the last one ended.
_caused = _may_cause = _faults_then = 0

# Room for the answer. A look at a process with 3,000,000 objects answers with 60 kB.
_ANSWER_BYTES = 8 * 1024 * 1024
# Option of wait4 for children without SIGCHLD; from <linux/wait.h>, because os does not define it.
_WCLONE = -0x80000000
_HEADER = struct.Struct("<8sQI")  # magic, length, checksum
_DONE, _FAILED = b"lg-done\n", b"lg-fail\n"
_LATE = "it took too long and was ended"
_LONGEST_REASON = 1000  # bytes
_PIPE_PIECE = 4096  # bytes; zlib releases the global interpreter lock above 5,120
# Seconds between two checks whether a killed copy has exited.
_INTERVAL = 0.002
# A copy has only one thread. If another thread of the program held a lock when the copy was made,
# the copy waits for this lock forever. A copy that sleeps for _LONGEST_SLEEP seconds is assumed to
# do so. Chosen: page faults from a slow disk take less. Whether it sleeps is checked every _GLANCES
# seconds.
_LONGEST_SLEEP, _GLANCES = 0.5, 0.05
# A copy may take _CROWD seconds of wall time per allowed second of CPU, plus _GRACE seconds: enough
# on a machine with eight times as many runnable threads as cores. Chosen.
_CROWD, _GRACE = 8.0, 10.0
# Most seconds to wait until a killed copy has exited. The kernel or a debugger may delay the exit,
# and the program stands still meanwhile. Chosen.
_LONGEST_DEATH = 2.0


class CopyRefused(Unavailable):
    """This process cannot be copied; the message states the reason."""


class CopyFailed(Unavailable):
    """A copy ended without its answer.

    Attributes:
        crashed: a signal ended the copy, and it was not a signal of the copy's limits.
        hung: the copy waited for a lock that another thread held when the copy was made. A second
            copy may succeed.
    """

    def __init__(self, reason: str, *, crashed: bool = False, hung: bool = False) -> None:
        super().__init__(reason)
        self.crashed = crashed
        self.hung = hung


def is_copy() -> bool:
    """Return whether this process is a copy."""
    return _is_copy


def keeps_memory() -> bool:
    """Return whether this is a copy in which no memory of before is used again, even if freed."""
    return _keeps_memory


def be_copy(*, keeps: bool = False) -> None:
    """Note that this process is a copy, so that it takes looks itself instead of being copied.

    What the program traces itself with is switched off: its own code would run in the copy.
    """
    global _is_copy, _keeps_memory
    _is_copy, _keeps_memory = True, keeps
    settrace(None)
    setprofile(None)
    monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
    for tool in range(6) if monitoring else ():
        if monitoring.get_tool(tool) is not None:
            monitoring.set_events(tool, 0)


def own_seconds() -> float:
    """Return the CPU seconds of this thread and of all copies that this process has made."""
    return time.thread_time() + _spent


def fault_seconds() -> float:
    """Return the CPU seconds of page faults that copies have caused so far, at most.

    After a copy, each page that it shared causes a fault when the program writes to it. The kernel
    does not tell these faults from others. So all faults count since the last copy ended, but no
    more than it shared pages.
    """
    return (_caused + _caused_by_last()) * _SECONDS_A_FAULT


def _caused_by_last() -> int:
    since = getrusage(RUSAGE_SELF).ru_minflt - _faults_then  # below 0 in a fork: it starts anew
    return min(max(since, 0), _may_cause)


def _shared_pages() -> None:
    """Note that a copy has ended, which shared the anonymous pages of this process."""
    global _caused, _may_cause, _faults_then
    _caused += _caused_by_last()
    try:
        _, resident, of_files = _memory_pages()
    except OSError:  # the program has no descriptor left
        resident = of_files = 0
    _may_cause = max(resident - of_files, 0)
    _faults_then = getrusage(RUSAGE_SELF).ru_minflt


@dataclass(slots=True)
class ProcessCopy:
    """One copy, until its answer is read or it is ended.

    Attributes:
        number: the process id of the copy.
        deadline: the monotonic time at which the copy is given up.
        seconds: the CPU time that the copy used; known once it has ended.
    """

    number: int
    deadline: float
    _room: mmap.mmap
    _home: int = field(default_factory=getpid)
    _status: int | None = None
    seconds: float = 0.0

    @classmethod
    def begin(cls, work: Callable[[], bytes], *, seconds: float, memory: int) -> ProcessCopy:
        """Copy this process and have the copy do ``work``.

        After ``seconds`` of CPU time the copy is ended. ``memory`` is the number of bytes that the
        copy may allocate. They do not come from the C allocator, because its locks may be held.
        With 0, the copy uses the C allocator, so that it can free memory there; it then hangs if
        another thread was just allocating.

        Raises:
            CopyRefused: no copy was made, and nothing has changed.
        """
        _bury()
        if (hindrance := copy_hindrance()) is not None:
            raise CopyRefused(f"this process is not copied: {hindrance}")
        longest = _CROWD * seconds + _GRACE
        try:
            room = mmap.mmap(-1, _ANSWER_BYTES)
            space = _address_space() + 2 * memory if memory else 0
            own = partial(_do, work, room, keeps=memory > 0)
            number = copy_process(memory, space, seconds, longest, own)
        except OSError as error:
            raise CopyRefused(f"this process cannot be copied: {error}") from None
        at_work.add(number)
        return cls(number, monotonic() + longest, room)

    def answer(self) -> bytes:
        """Wait for the result of the copy and return it; other threads run in the meantime.

        Raises:
            CopyFailed: the copy ended without an answer, or was ended.
        """
        try:
            self._wait()
        except BaseException:  # interrupts too: nothing else ends the copy
            self.end()
            raise
        with self._room:
            return self._read()

    def _wait(self) -> None:
        sleeps = 0.0
        while not run_released(is_over, self.number, _GLANCES):
            sleeps = sleeps + _GLANCES if _is_asleep(self.number) else 0.0
            if sleeps >= _LONGEST_SLEEP:
                raise CopyFailed("it waited for a lock that another thread held", hung=True)
            if monotonic() >= self.deadline:
                raise CopyFailed(_LATE)
        self._reaped(0)

    def end(self) -> None:
        """Kill the copy if it is still running, and wait for its exit, though not for long."""
        if self._reaped(os.WNOHANG):
            return
        with contextlib.suppress(ProcessLookupError):
            kill(self.number, signal.SIGKILL)
        until = monotonic() + _LONGEST_DEATH
        while not self._reaped(os.WNOHANG):
            if monotonic() >= until:
                self._status = signal.SIGKILL
                _dying.add(self.number)
            sleep(_INTERVAL)

    def _reaped(self, options: int) -> bool:
        """Return whether the copy has exited; always True in a fork of the process."""
        if self._status is None and getpid() == self._home:
            try:
                number, status, usage = wait4(self.number, options | _WCLONE)
            except ChildProcessError:  # the program has already waited for it, as for any child
                number, status, usage = self.number, 0, None
            if not number:
                return False
            self._status = status
            global _spent
            self.seconds = usage.ru_utime + usage.ru_stime if usage else 0.0
            _spent += self.seconds
            _shared_pages()
            at_work.discard(self.number)
        return True

    def _read(self) -> bytes:
        status = self._status or 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number in (signal.SIGALRM, signal.SIGPROF):
                raise CopyFailed(_LATE)
            killed = number == signal.SIGKILL  # by the kernel, when memory runs out
            name = signal.Signals(number).name
            raise CopyFailed(f"it was ended by {name}", crashed=not killed)
        if status:
            raise CopyFailed("it has too little memory, or could not close its files")
        magic, length, checksum = _HEADER.unpack_from(self._room)
        said = bytes(self._room[_HEADER.size : _HEADER.size + min(length, _ANSWER_BYTES)])
        if magic not in (_DONE, _FAILED) or len(said) != length or _checksum(said) != checksum:
            raise CopyFailed("its answer is incomplete")
        if magic == _FAILED:
            raise CopyFailed(said.decode(errors="replace"))
        return said


def _bury() -> None:
    """Reap killed copies that have exited late."""
    for number in tuple(_dying):
        try:
            gone = os.waitpid(number, os.WNOHANG | _WCLONE)[0]
        except ChildProcessError:
            gone = number
        if gone:
            _dying.discard(number)
            at_work.discard(number)


def _do(work: Callable[[], bytes], room: mmap.mmap, *, keeps: bool) -> NoReturn:
    """Do the work in the copy, write the answer, and exit the copy."""
    try:
        try:
            be_copy(keeps=keeps)
            magic, said = _DONE, work()
            if len(said) > _ANSWER_BYTES - _HEADER.size:
                magic, said = _FAILED, b"its answer is too long"
        except BaseException as error:
            magic, said = _FAILED, reason_of(error).encode(errors="replace")[:_LONGEST_REASON]
        room[_HEADER.size : _HEADER.size + len(said)] = said
        _HEADER.pack_into(room, 0, magic, len(said), _checksum(said))
    finally:
        os._exit(0)


def _checksum(said: bytes) -> int:
    """Return the checksum, computed in small pieces.

    For larger pieces zlib would release the global interpreter lock for other threads. The copy has
    no other threads, and taking the lock again could block.
    """
    total = 0
    for start in range(0, len(said), _PIPE_PIECE):
        total = zlib.crc32(said[start : start + _PIPE_PIECE], total)
    return total


def _is_asleep(number: int) -> bool:
    """Return whether a process sleeps; False if its state cannot be read."""
    try:
        with FileIO(f"/proc/{number}/stat") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"S"]
    except OSError:
        return False


def _address_space() -> int:
    """Return the bytes of this process's address space."""
    return _memory_pages()[0] * mmap.PAGESIZE


def _memory_pages() -> tuple[int, int, int]:
    """Return the pages of this process: of its address space, resident ones, and those of files."""
    with FileIO("/proc/self/statm") as file:
        size, resident, of_files, *_ = map(int, file.read().split())
    return size, resident, of_files
