"""One process of a job without a guard, as it is seen from outside."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.capture.outside import Paced, environment_of, shared_pages, stat_fields
from leakguard.capture.probe import Reading, Unavailable
from leakguard.capture.process import process_memory
from leakguard.live.outside_run import OutsideRun, run_file_of
from leakguard.live.run_directory import Identity, RunDirectory, identity
from leakguard.live.sidecar.ascent import Ascent
from leakguard.model import Run, RunInfo
from leakguard.model.secrets import command_line
from leakguard.store import schema

# A process has a file from this many samples on. Chosen: shorter ones, such as those of a compiler,
# would fill the run directory with files that say nothing.
_WORTH_A_FILE = 10
# Samples of a process that are kept; beyond this, every second one is dropped. So its file, which
# is written anew each time, stays below 200 kB.
_KEPT_OUTSIDE = 400
# Seconds from one writing of a file to the next: they double from the first to the second number.
_FIRST_WRITING, _LAST_WRITING = 10.0, 60.0


@dataclass(slots=True)
class FollowedProcess:
    """The samples of one process, and the file with them.

    Attributes:
        began: its start time, as ``process_began`` returns it.
        ascent: whether its memory rises.
        next_visit: the time (monotonic seconds) before which it is not looked into.
        pause: seconds from the next visit to the one after it.
    """

    pid: int
    began: float
    path: Path
    run: OutsideRun
    ascent: Ascent = field(default_factory=Ascent)
    next_visit: float = 0.0
    pause: float = 60.0
    _samples: int = 0
    _ran: int | None = None
    _written_at: float = field(default_factory=time.monotonic)
    _spacing: float = _FIRST_WRITING

    @classmethod
    def of(cls, pid: int, began: float, root: bool, job: RunDirectory) -> FollowedProcess:
        """Return a process that is followed from now on.

        Raises:
            UsageError: it has ended.
        """
        info = _facts_from_outside(pid, root, job)
        view = _View(pid)
        who = Identity(info.rank, None, None, "outside", info.host or "", pid)
        run = OutsideRun(pid, lambda _: view(), info=info, kept=_KEPT_OUTSIDE)
        return cls(pid, began, Path(job.place) / who.file_name, run)

    def sample(self) -> int | None:
        """Take a sample; return the width in samples at which memory rises, or None.

        A process that has not run since the last sample gets none. Its memory is as it was, and
        would look like growth that has stopped.

        Raises:
            ProcessLookupError: it has ended.
        """
        ran = _cpu_ticks(self.pid)
        if ran == self._ran:
            return None
        self._ran = ran
        if not self.run.poll():
            raise ProcessLookupError(0, f"process {self.pid} has ended")
        self._samples += 1
        now = time.monotonic()
        if self._samples >= _WORTH_A_FILE and now - self._written_at >= self._spacing:
            self._spacing = min(2 * self._spacing, _LAST_WRITING)
            self.write()
        seen = self.run.latest
        held = seen.get("rss_anonymous", seen.get("rss", 0)) + seen.get("swap", 0)
        return self.ascent.add(int(held))

    def end(self) -> None:
        """Write the run of a process that has ended."""
        self.run.is_over = True
        self.write()

    def write(self) -> None:
        """Write the run so far, unless it is too short to say anything."""
        self._written_at = time.monotonic()
        if self._samples < _WORTH_A_FILE:
            return
        if run_file_of(self.pid) is not None:  # its own guard tells more
            self.path.unlink(missing_ok=True)
            return
        for run in self.run.runs():
            with contextlib.suppress(OSError):
                _replace_file(self.path, _text_of(run))


@dataclass(slots=True)
class _View:
    """Reads the memory of one process; shared pages only as often as their cost allows."""

    pid: int
    _shared: Paced = field(init=False)

    def __post_init__(self) -> None:
        self._shared = Paced(lambda: shared_pages(self.pid))

    def __call__(self) -> Reading:
        try:
            reading = dict(process_memory(self.pid))
        except Unavailable:  # a zombie has no memory
            raise ProcessLookupError(0, f"process {self.pid} has ended") from None
        with contextlib.suppress(Unavailable):
            reading |= self._shared()
        return reading


def _facts_from_outside(pid: int, root: bool, job: RunDirectory) -> RunInfo:
    own = identity(None, environment_of(pid))
    above = identity(None, environment_of(parent_of(pid))).rank
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
    is_main = root or (own.rank is not None and above is None)
    return RunInfo(
        source="outside",
        started=now,
        command=_command_of(pid),
        pid=pid,
        rank=own.rank,
        job=job.job,
        host=own.host,
        role=None if is_main else "child",
        observer=os.getpid(),
        generation_means="1 s",
    )


def parent_of(pid: int) -> int:
    """Return the pid of a process's parent; 0 if it has ended."""
    try:
        return int(stat_fields(pid)[1])
    except (OSError, IndexError, ValueError):
        return 0


def _cpu_ticks(pid: int) -> int:
    """Return the CPU time that a process has used, in the kernel's ticks.

    Raises:
        ProcessLookupError: it has ended.
    """
    try:
        user, system = stat_fields(pid)[11:13]
    except (OSError, ValueError):
        raise ProcessLookupError(0, f"process {pid} has ended") from None
    return int(user) + int(system)


def _command_of(pid: int) -> str | None:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    return command_line([word.decode("utf-8", "replace") for word in words])


def _text_of(run: Run) -> bytes:
    lines = [schema.encode_header(run.info), *map(schema.encode_snapshot, run.snapshots)]
    return b"".join((*lines, schema.encode_end(len(run.snapshots)) if run.finished else b""))


def _replace_file(path: Path, text: bytes) -> None:
    """Write a file whole, so that a reader sees it as it was or as it is."""
    beside = path.with_name(f".{path.name}.new")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        file.write(text)
    beside.replace(path)
