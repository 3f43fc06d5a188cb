"""What the kernel reports about a process to other processes, without code inside that process."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import getpid, listdir  # the program may have put doubles in their place

from leakguard.capture.probe import Reading, Unavailable
from leakguard.capture.process import process_memory
from leakguard.model.units import format_bytes

_open = open  # Bound early, as the functions of os are.

_ROLLUP = re.compile(rb"^(Pss|Private_Clean|Private_Dirty):\s+(\d+) kB", re.MULTILINE)
_SHARED = re.compile(rb"^(Anonymous|Private_Dirty):\s+(\d+) kB", re.MULTILINE)
# To report shared pages, the kernel walks all pages of the process: a few milliseconds per GB.
# These readings may take _READING_SHARE of the elapsed time, plus _ADVANCE seconds, so that a
# short run gets a reading too.
_ADVANCE = 0.2
_READING_SHARE = 0.01
# Processes that frameworks start for their own purposes. They hold no data of the program.
_HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver",
            b"leakguard.store.remote_copy", b"leakguard.live.sidecar")  # fmt: skip


def shared_pages(pid: int | str = "self") -> Reading:
    """Read the bytes of private pages, and the PSS: private pages plus a share of shared pages.

    Raises:
        Unavailable: the system has no ``smaps_rollup``, or the process belongs to another user.
    """
    try:
        with _open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            found = {name: int(size) * 1024 for name, size in _ROLLUP.findall(file.read())}
        return {"pss": found[b"Pss"], "private": found[b"Private_Clean"] + found[b"Private_Dirty"]}
    except (OSError, KeyError) as error:
        reason = getattr(error, "strerror", None) or "this kernel does not report it"
        raise Unavailable(f"/proc/{pid}/smaps_rollup: {reason}") from None


def outside_view(pid: int) -> Reading:
    """Read the memory, threads and files of another process of this user.

    Raises:
        ProcessLookupError: no process has that number.
        PermissionError: the process belongs to another user.
    """
    with _told_as_lookup(pid):
        reading = dict(process_memory(pid))
        if not sys.platform.startswith("linux"):
            return reading
        with contextlib.suppress(OSError):
            reading["open_files"] = len(listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - half the cost
    with contextlib.suppress(Unavailable):
        reading |= shared_pages(pid)
    reading["children"] = sum(1 for _ in _children_of(pid))
    return reading


@contextlib.contextmanager
def _told_as_lookup(pid: int) -> Iterator[None]:
    """Raise ProcessLookupError in the block for a process that has ended or is a zombie.

    For a process of another user, raise PermissionError.
    """
    import psutil

    try:
        yield
    except psutil.AccessDenied:
        raise PermissionError(13, f"process {pid} is another user's") from None
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError, Unavailable):
        raise ProcessLookupError(3, f"there is no process {pid}") from None


_MAPPING = re.compile(rb"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$")
_AMOUNT = re.compile(rb"^(Rss|Private_Clean|Private_Dirty):\s+(\d+) kB")


def largest_mappings(pid: int, most: int = 8) -> list[tuple[str, int, int]]:
    """Return the mappings of a process with the most RSS, as (name, RSS, private bytes).

    Mappings of the same name are added up. A name is ``[heap]``, ``[stack]``, a file or
    ``anonymous``. The list is empty on other systems than Linux.
    """
    rss: Counter[str] = Counter()
    private: Counter[str] = Counter()
    name = "anonymous"
    try:
        with _open(f"/proc/{pid}/smaps", "rb") as file:
            for line in file:
                if (amount := _AMOUNT.match(line)) is not None:
                    (rss if amount[1] == b"Rss" else private)[name] += int(amount[2]) * 1024
                elif (mapping := _MAPPING.match(line)) is not None:
                    name = mapping[1].decode("utf-8", "replace") or "anonymous"
    except OSError:
        return []
    return [(name, size, private[name]) for name, size in rss.most_common(most) if size]


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty if it cannot be read."""
    try:
        with _open(f"/proc/{pid}/environ", "rb") as file:
            entries = os.fsdecode(file.read()).split("\0")
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in entries)
    return {name: value for name, equals, value in pairs if equals}


def descendants(pid: int) -> Iterator[int]:
    """Yield all descendants of ``pid`` except helpers of multiprocessing and ours; Linux only."""
    yield from _below(pid, b"")


def _below(pid: int, line: bytes) -> Iterator[int]:
    """Yield the descendants of a process with that command line."""
    for child in _children_of(pid):
        own = _command_line(child)
        # A worker of a fork server is a fork of it, and has its command line.
        is_worker = own == line and any(helper in own for helper in _HELPERS)
        if not _is_copy(child) and (is_worker or not is_helper(child)):
            yield child
        yield from _below(child, own)


def _children_of(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - Path objects cost more
            with (
                contextlib.suppress(OSError),
                _open(f"/proc/{pid}/task/{thread}/children", "rb") as file,
            ):
                yield from map(int, file.read().split())


def is_helper(pid: int) -> bool:
    """Return whether a process is no worker: a framework's helper, or one of ours."""
    line = _command_line(pid)
    return _is_copy(pid) or any(helper in line for helper in _HELPERS)


def _is_copy(pid: int) -> bool:
    """Return whether a process is a copy that a guard has made, or has ended.

    Such a copy has no exit signal, which is the 36th number after the name.
    """
    try:
        return stat_fields(pid)[35] == b"0"
    except (OSError, IndexError):
        return True


def stat_fields(pid: int) -> list[bytes]:
    """Return what the kernel says of a process after its name: state, parent and so on.

    The name is in brackets and may contain spaces and brackets itself, so the fields are counted
    from the last closing bracket. Source: proc_pid_stat(5).

    Raises:
        OSError: it has ended.
    """
    with _open(f"/proc/{pid}/stat", "rb") as file:
        return file.read(4096).rpartition(b")")[2].split()


def process_began(pid: int) -> float | None:
    """Return the start time of a process, at the system's resolution; None if it has ended.

    On Linux, it is in clock ticks since boot, which do not change when the clock is set. On other
    systems, it is in seconds since 1970. Source: proc_pid_stat(5), ``starttime``.
    """
    try:
        return float(stat_fields(pid)[19])
    except (OSError, IndexError, ValueError):
        pass
    import psutil  # not above: the sidecar of a job does without it

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _command_line(pid: int) -> bytes:
    try:
        with _open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


# If a forked process shares more bytes than this with its parent, no look is taken. A look writes
# to the shared pages, and the kernel then copies each of them. Chosen: about as many bytes as a
# process with torch shares. With a higher limit, a worker could take as much memory as its parent.
_MAY_COPY = 100_000_000

_forked: list[int] = []  # The pid of this process if it was forked after this module was loaded.


def was_forked() -> bool:
    """Return whether this process began as a fork, and therefore shares pages with its parent."""
    return _forked == [getpid()]


def reason_to_spare_heap() -> str | None:
    """Return why a heap walk would harm this process; None if the walk is safe.

    A walk changes reference counts. In a forked process these writes copy every page that the
    process shares with its parent.
    """
    if not was_forked():
        return None
    try:
        with open("/proc/self/smaps_rollup", "rb") as file:
            found = {name: int(size) * 1024 for name, size in _SHARED.findall(file.read())}
        shared = found[b"Anonymous"] - found[b"Private_Dirty"]
    except (OSError, KeyError):
        return None
    if shared <= _MAY_COPY:
        return None
    return f"a look would copy the {format_bytes(shared)} that this process shares with its parent"


def _note_fork() -> None:
    _forked[:] = [getpid()]


os.register_at_fork(after_in_child=_note_fork)


@dataclass(slots=True)
class Paced:
    """Takes an expensive reading only as often as it costs less than a hundredth of the run's time.

    ``clock`` returns the elapsed time, ``cost`` the CPU time of this thread, both in seconds.
    """

    read: Callable[[], Reading] = shared_pages
    clock: Callable[[], float] = time.perf_counter
    cost: Callable[[], float] = time.thread_time
    _began: float | None = None
    _spent: float = 0.0

    def __call__(self) -> Reading:
        """Take the reading, or return an empty one while earlier readings exceed their share."""
        now = self.clock()
        self._began = now if self._began is None else self._began
        if self._spent > _ADVANCE + _READING_SHARE * (now - self._began):
            return {}
        began = self.cost()
        try:
            return self.read()
        finally:
            self._spent += self.cost() - began
