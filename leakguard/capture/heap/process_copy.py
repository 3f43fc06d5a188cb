"""A copy of this process that works something out while this one goes on.

The copy is made by a bare ``clone`` without an exit signal (``scan/copy.c``), not by ``os.fork``:
no atfork handler runs, so BLAS and OpenMP pools go on, and neither ``wait()`` nor SIGCHLD of the
program ever hear of it. What that costs is that locks of other threads stay locked in the copy; the
two that a look always meets are dealt with in ``scan/copy.c``, and a copy that meets another hangs,
which is seen from here: it sleeps, and a look never does. Python code may run in it, since the
thread that makes the copy has Python's lock and is the only one there: a look is taken whole, walk,
names and all. Nothing that happens in the copy, a crash included, reaches this process: it becomes
a ``CopyFailed``. It has none of the process's files, so that pipes, ports and locks of the program
end when the program ends them.

No copy is made where it could hurt all the same: with musl or an old glibc, where memory is
promised only once, and where an old kernel would part a device from the memory that it writes to.
What remains: it counts as a process against limits on their number, tools that list the children of
the process see it, and it stays behind as a zombie if the process replaces itself by exec.

The answer comes back through shared memory with its length and a checksum in front, written last,
so that one that was torn is none. Shared memory has no descriptor, which the program might count.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from io import FileIO  # the program may have put doubles in the place of open and these
from os import getpid, kill, wait4
from time import monotonic, sleep
from typing import NoReturn

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


#: The numbers of the copies that are at work, which are no children of the program's.
at_work: set[int] = set()
# Those of them that were ended but have not exited yet.
_dying: set[int] = set()
# CPU seconds of all copies that have ended; and whether this process is one.
_spent = 0.0
_is_copy = False

# A look at a process with 3,000,000 objects answers with 60 kB: names and numbers.
_ANSWER_BYTES = 8 * 1024 * 1024
# Waits for children that were made without SIGCHLD; <linux/wait.h>, and the os module lacks it.
_WCLONE = -0x80000000
_HEADER = struct.Struct("<8sQI")  # magic, length, checksum
_DONE, _FAILED = b"lg-done\n", b"lg-fail\n"
_LATE = "it took too long and was ended"
_LONGEST_REASON = 1000  # bytes
_PIPE_PIECE = 4096  # bytes; zlib releases Python's lock above 5,120
# How often one that is ended is asked whether it is gone, in seconds.
_INTERVAL = 0.002
# A copy that sleeps for so many seconds waits for a lock of a thread that it does not have. Chosen:
# page faults from a slow disk take less.
_LONGEST_SLEEP, _GLANCES = 0.5, 0.05
# Wall time per second of CPU that a copy may take, and seconds in addition: for a machine with
# eight times as much to do as it has cores. Chosen.
_CROWD, _GRACE = 8.0, 10.0
# Seconds to wait for a killed copy to exit. The kernel or a debugger may keep it, and the program
# should not stand still for that. Chosen, well above the time of a look.
_LONGEST_DEATH = 2.0


class CopyRefused(Unavailable):
    """This process cannot be copied here; the message says why."""


class CopyFailed(Unavailable):
    """A copy ended without its answer.

    Attributes:
        crashed: a signal other than those of its limits ended it.
        hung: it waited for a lock of a thread that it does not have; a second one may not.
    """

    def __init__(self, reason: str, *, crashed: bool = False, hung: bool = False) -> None:
        super().__init__(reason)
        self.crashed = crashed
        self.hung = hung


def is_copy() -> bool:
    """Return whether this process is a copy at work."""
    return _is_copy


def be_copy() -> None:
    """Take that this process is one: nobody looks for another to look in."""
    global _is_copy
    _is_copy = True


def own_seconds() -> float:
    """Return the CPU seconds of this thread and of all copies that this process has made."""
    return time.thread_time() + _spent


@dataclass(slots=True)
class ProcessCopy:
    """One copy at work, until its answer was taken or it was ended.

    Attributes:
        number: its process id.
        seconds: of CPU that it used; known when it has ended.
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

        After ``seconds`` of CPU time the copy is ended. ``memory`` is how many bytes it may
        allocate; they do not come from the C allocator, which it leaves alone. With 0 it uses the C
        allocator, so that it can free memory there; it hangs if another thread was just allocating.

        Raises:
            CopyRefused: there is no copy; nothing has changed.
        """
        _bury()
        if (hindrance := copy_hindrance()) is not None:
            raise CopyRefused(f"this process is not copied: {hindrance}")
        longest = _CROWD * seconds + _GRACE
        try:
            room = mmap.mmap(-1, _ANSWER_BYTES)
            space = _address_space() + 2 * memory if memory else 0
            number = copy_process(memory, space, seconds, longest, lambda: _do(work, room))
        except OSError as error:
            raise CopyRefused(f"this process cannot be copied: {error}") from None
        at_work.add(number)
        return cls(number, monotonic() + longest, room)

    def answer(self) -> bytes:
        """Wait for the result of the copy and return it; other threads run in the meantime.

        Raises:
            CopyFailed: it has ended without an answer, or was ended.
        """
        try:
            self._wait()
        except BaseException:  # an interrupt, too: nobody else will end it
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
        """End the copy, if it still works, and forget it."""
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
        """Return whether the copy has exited; a fork of the process has no copies."""
        if self._status is None and getpid() == self._home:
            try:
                number, status, usage = wait4(self.number, options | _WCLONE)
            except ChildProcessError:  # the program itself waits for any child
                number, status, usage = self.number, 0, None
            if not number:
                return False
            self._status = status
            global _spent
            self.seconds = usage.ru_utime + usage.ru_stime if usage else 0.0
            _spent += self.seconds
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
    """Note the exit of killed copies that took long."""
    for number in tuple(_dying):
        try:
            gone = os.waitpid(number, os.WNOHANG | _WCLONE)[0]
        except ChildProcessError:
            gone = number
        if gone:
            _dying.discard(number)
            at_work.discard(number)


def _do(work: Callable[[], bytes], room: mmap.mmap) -> NoReturn:
    """Do the work, in the copy, and end it."""
    be_copy()
    try:
        try:
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
    """Return the checksum in pieces: for larger ones zlib would let other threads run.

    In the copy there are none, and handing them Python's lock could block.
    """
    total = 0
    for start in range(0, len(said), _PIPE_PIECE):
        total = zlib.crc32(said[start : start + _PIPE_PIECE], total)
    return total


def _is_asleep(number: int) -> bool:
    """Return whether a process sleeps; False if the kernel does not show it."""
    try:
        with FileIO(f"/proc/{number}/stat") as file:
            return file.read().rpartition(b")")[2].split()[:1] == [b"S"]
    except OSError:
        return False


def _address_space() -> int:
    """Return the bytes of this process's address space."""
    with FileIO("/proc/self/statm") as file:
        return int(file.read().split()[0]) * mmap.PAGESIZE
