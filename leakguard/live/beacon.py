"""Lets another process of the same user find a running guard, by a small file and a signal.

A guard with ``on_signal=`` writes ``PID.json`` into a folder that only its user can enter. The file
holds the signal that the guard answers, the run file, and the start time of the process.
``leakguard snapshot PID`` trusts the file only if folder and file belong to that user. It signals
the process only if the start time matches, because pids are reused.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from types import FrameType

from leakguard.errors import NobodyListens, UsageError
from leakguard.live.private_folder import check_private, owner_of, private_folder
from leakguard.store.run_lock import for_user_alone, write_all

_Handler = Callable[[int, "FrameType | None"], object]

#: The signals that a guard may answer. The system never sends ``SIGUSR1`` and ``SIGUSR2`` by
#: itself. A terminal causes ``SIGHUP`` when it closes and ``SIGWINCH`` when it is resized, so a
#: program without a terminal can use both for the guard.
SIGNALS = frozenset(
    number
    for name in ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGWINCH")
    if (number := getattr(signal, name, None)) is not None
)
_LONGEST_BEACON = 65_536


@dataclass(frozen=True, slots=True)
class Beacon:
    """What a listening guard publishes: the signal that it answers, and where it writes.

    ``began`` is the start time of its process; see ``process_began``.
    """

    pid: int
    signal: int
    out: Path
    began: float

    def ask(self) -> None:
        """Send the signal to exactly this process.

        Raises:
            UsageError: the process has ended, or this user may not signal it.
        """
        try:
            with _held_process(self.pid) as send:
                if process_began(self.pid) != self.began:
                    raise ProcessLookupError(0, "that process has ended")
                send(self.signal)
        except OSError as error:
            raise UsageError(f"cannot signal process {self.pid}: {error.strerror}") from None


def beacon_path(pid: int, user: int | None = None) -> Path:
    """Return the beacon of the guard in process ``pid``; ``user`` owns the process."""
    return private_folder(user) / f"{pid}.json"


def process_began(pid: int) -> float | None:
    """Return the start time of a process, at the system's resolution; None if it has ended.

    On Linux, it is in clock ticks since boot, which do not change when the clock is set. On other
    systems, it is in seconds since 1970. Source: proc_pid_stat(5), ``starttime``.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes()
        # Field 2, the name of the program, is in brackets and may itself contain spaces and
        # brackets. So the fields are counted from the last closing bracket: after it, ``starttime``
        # (field 22) has the index 19.
        return float(told.rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        pass
    import psutil  # not above: the sidecar of a job does without it

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def find_beacon(pid: int) -> Beacon:
    """Return the beacon of the guard in process ``pid``.

    Raises:
        NobodyListens: no guard listens in that process.
        UsageError: the beacon is not to be trusted.
    """
    try:
        user = owner_of(pid)
        told = json.loads(_read_private(beacon_path(pid, user), user))
        beacon = Beacon(pid, int(told["signal"]), Path(told["out"]), float(told["began"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise NobodyListens(
            f"no guard listens in process {pid}; start it with "
            "LeakGuard(out=..., on_signal='SIGUSR1') or by leakguard run"
        ) from None
    if beacon.signal not in SIGNALS or beacon.began != process_began(pid):
        raise UsageError(f"{beacon_path(pid, user)} is not of process {pid}; delete it")
    return beacon


class Listener:
    """Answers a signal while a guard runs."""

    def __init__(self, number: int, out: Path, answer: Callable[[], None]) -> None:
        """Store what to do on a signal; ``listen`` installs the handler."""
        self._number = number
        self._out = out
        self._pid = os.getpid()
        self._path: Path | None = None
        self._handler: _Handler = lambda number, frame: answer()
        self._before: _Handler | int | None = None

    def listen(self) -> None:
        """Publish the beacon and install the handler; works only in the main thread.

        Raises:
            UsageError: this is another thread, the signal cannot be caught, or the beacon cannot be
                written.
        """
        number, out = self._number, str(self._out.absolute())
        told = {"signal": number, "out": out, "began": process_began(self._pid)}
        try:
            self._path = beacon_path(self._pid)
            _write_private(self._path, json.dumps(told).encode())
        except OSError as error:
            raise UsageError(
                f"on_signal= needs a private folder for temporary files: {error.strerror}; "
                "set TMPDIR to a folder that is yours"
            ) from None
        try:
            self._before = signal.getsignal(number)
            signal.signal(number, self._handler)
        except (ValueError, OSError) as error:
            self._path.unlink(missing_ok=True)
            raise UsageError(f"on_signal={number} cannot be used: {error}") from None

    def close(self) -> None:
        """Remove the beacon and restore the earlier handler; in a forked child, do nothing.

        A handler that the program has installed in the meantime stays.
        """
        if os.getpid() != self._pid:
            return
        before = self._before
        try:
            if signal.getsignal(self._number) is self._handler:
                with contextlib.suppress(ValueError, OSError):  # another thread ends the run
                    signal.signal(self._number, signal.SIG_DFL if before is None else before)
        finally:
            if self._path is not None:
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)


def _write_private(path: Path, content: bytes) -> None:
    """Create a file in a private folder; an existing file is never written to.

    Raises:
        OSError: other users can enter the folder, or the file cannot be created.
    """
    with contextlib.suppress(FileExistsError):
        path.parent.mkdir(mode=0o700)
    check_private(path.parent, os.getuid())
    path.unlink(missing_ok=True)  # left by a killed process with this pid
    with FileIO(path, "xb", opener=for_user_alone) as file:  # follows no link
        write_all(file, content)


def _read_private(path: Path, user: int) -> bytes:
    check_private(path.parent, user)
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        told = os.fstat(descriptor)
        if not stat.S_ISREG(told.st_mode) or told.st_uid != user:
            raise PermissionError(0, f"{path} is not a file of that user")
        return os.read(descriptor, _LONGEST_BEACON)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _held_process(pid: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that signals exactly this process, even if its pid is reused meanwhile."""
    if not hasattr(os, "pidfd_open"):
        yield lambda number: os.kill(pid, number)
        return
    descriptor = os.pidfd_open(pid)
    try:
        yield lambda number: signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)
