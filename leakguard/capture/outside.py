"""A process as its kernel shows it to others, without any code inside of it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import getpid  # the program may have put a double in its place

from leakguard.capture.probe import Reading, Unavailable
from leakguard.capture.process import process_memory
from leakguard.model.units import format_bytes

_ROLLUP = re.compile(rb"^(Pss|Private_Clean|Private_Dirty):\s+(\d+) kB", re.MULTILINE)
_SHARED = re.compile(rb"^(Anonymous|Private_Dirty):\s+(\d+) kB", re.MULTILINE)
# The kernel walks all pages of the process for it, a few milliseconds per GB. This is the share of
# the elapsed time that it may take, and the seconds beyond that for a short run.
_ADVANCE = 0.2
_READING_SHARE = 0.01
# Processes that frameworks start for themselves: they hold nothing of the program.
_HELPERS = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver",
            b"leakguard.store.remote_copy")  # fmt: skip


def shared_pages(pid: int | str = "self") -> Reading:
    """Read the private pages, and the shared ones by this process's share of them.

    Raises:
        Unavailable: this is no Linux with ``smaps_rollup``, or the process is another user's.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            found = {name: int(size) * 1024 for name, size in _ROLLUP.findall(file.read())}
        return {"pss": found[b"Pss"], "private": found[b"Private_Clean"] + found[b"Private_Dirty"]}
    except (OSError, KeyError) as error:
        reason = getattr(error, "strerror", None) or "this kernel does not report it"
        raise Unavailable(f"/proc/{pid}/smaps_rollup: {reason}") from None


def outside_view(pid: int) -> Reading:
    """Read the memory, threads and files of another process of this user.

    Raises:
        ProcessLookupError: there is none with that number.
        PermissionError: it is another user's.
    """
    with _told_as_lookup(pid):
        reading = dict(process_memory(pid))
        if not sys.platform.startswith("linux"):
            return reading
        with contextlib.suppress(OSError):
            reading["open_files"] = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - half as dear
    with contextlib.suppress(Unavailable):
        reading |= shared_pages(pid)
    reading["children"] = sum(1 for _ in _children_of(pid))
    return reading


@contextlib.contextmanager
def _told_as_lookup(pid: int) -> Iterator[None]:
    """Let a process that has ended, and a zombie, be no process."""
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
    """Return the largest mappings of a process in RAM, as (name, RSS, private bytes); Linux only.

    Mappings of one name count together: ``[heap]``, ``[stack]``, a file, or ``anonymous``.
    """
    rss: Counter[str] = Counter()
    private: Counter[str] = Counter()
    name = "anonymous"
    try:
        with open(f"/proc/{pid}/smaps", "rb") as file:
            for line in file:
                if (amount := _AMOUNT.match(line)) is not None:
                    (rss if amount[1] == b"Rss" else private)[name] += int(amount[2]) * 1024
                elif (mapping := _MAPPING.match(line)) is not None:
                    name = mapping[1].decode("utf-8", "replace") or "anonymous"
    except OSError:
        return []
    return [(name, size, private[name]) for name, size in rss.most_common(most) if size]


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below ``pid``, without helpers of multiprocessing; Linux only."""
    for child in _children_of(pid):
        if not _is_helper(child):
            yield child
        yield from descendants(child)


def _children_of(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - Path objects cost more
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{thread}/children", "rb") as file,
            ):
                yield from map(int, file.read().split())


def _is_helper(pid: int) -> bool:
    """Return whether a process is no worker: a framework's helper, or a copy of the guard's.

    The guard's copies have no exit signal, which is the 36th number after the name.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            if file.read(4096).rpartition(b")")[2].split()[35] == b"0":
                return True
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            line = file.read(4096)
    except (OSError, IndexError):
        return True
    return any(helper in line for helper in _HELPERS)


# Bytes that a look may copy in a forked process: about what a process with torch shares. With more,
# every worker would take as much memory as its parent.
_MAY_COPY = 100_000_000

_forked: list[int] = []  # This process, if it was forked after this module was loaded.


def was_forked() -> bool:
    """Return whether this process began as a fork of another one, and shares its pages."""
    return _forked == [getpid()]


def reason_to_spare_heap() -> str | None:
    """Return why a walk of the heap would hurt a forked process; None if it would not.

    A walk changes reference counts, which writes to every page that the fork shares.
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
    """Takes an expensive reading as often as a hundredth of the run's time pays for it.

    ``clock`` is the time, ``cost`` the CPU time of this thread, both in seconds.
    """

    read: Callable[[], Reading] = shared_pages
    clock: Callable[[], float] = time.perf_counter
    cost: Callable[[], float] = time.thread_time
    _began: float | None = None
    _spent: float = 0.0

    def __call__(self) -> Reading:
        """Read, or return nothing while earlier readings are not paid for yet."""
        now = self.clock()
        self._began = now if self._began is None else self._began
        if self._spent > _ADVANCE + _READING_SHARE * (now - self._began):
            return {}
        began = self.cost()
        try:
            return self.read()
        finally:
            self._spent += self.cost() - began
