"""A process without a guard, sampled from outside: each sample is a generation of its run."""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path

from leakguard.capture.outside import outside_view
from leakguard.capture.probe import Reading
from leakguard.capture.process import memory_limit
from leakguard.errors import UsageError
from leakguard.model import Run, RunInfo, Snapshot
from leakguard.store import jsonl

_KEPT = 4_000  # samples; beyond this, every second one is dropped


def run_file_of(pid: int) -> Path | None:
    """Return the run file that a process has open for writing; None if there is none."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        links = [Path(os.readlink(link)) for link in folder.iterdir()]  # noqa: PTH115 - may be gone
    except OSError:
        return None
    return next((path for path in links if _is_run(path)), None)


def _is_run(path: Path) -> bool:
    try:
        if path.suffix != ".jsonl" or not path.is_file():
            return False
        with path.open("rb") as file:
            return jsonl.is_run(file.read(jsonl.HEADER_START))
    except OSError:
        return False


class OutsideRun:
    """The run of a process as the kernel reports it; it ends with the process."""

    def __init__(
        self,
        pid: int,
        read: Callable[[int], Reading] = outside_view,
        clock: Callable[[], float] = time.monotonic,
        info: RunInfo | None = None,
        kept: int = _KEPT,
    ) -> None:
        """Start watching; ``info`` replaces the usual facts about the run.

        Raises:
            UsageError: there is no such process, or it belongs to another user.
        """
        self.pid, self._read, self._clock = pid, read, clock
        self._began = clock()
        self._taken = 0
        self._snapshots: list[Snapshot] = []
        self._stride = 1
        self.is_over = False
        try:
            read(pid)
        except OSError as error:
            raise UsageError(f"cannot watch process {pid}: {error.strerror}") from None
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self._kept = kept
        self.latest: Reading = {}
        self.unavailable: dict[str, str] = {}
        self.info = info or RunInfo(
            source="outside",
            name=f"process {pid}",
            pid=pid,
            started=now,
            memory_limit=memory_limit(),
            observer=os.getpid(),
        )

    def poll(self) -> bool:
        """Take a sample; return False once the process has ended."""
        try:
            reading = self._read(self.pid)
        except OSError:
            self.is_over = True
            return False
        self._taken += 1
        self.latest = reading
        if self._taken % self._stride == 0:
            self._add(reading)
        return True

    def runs(self) -> list[Run]:
        """Return the run so far."""
        if not self._snapshots:
            return []
        return [Run(self.info, tuple(self._snapshots), finished=self.is_over)]

    def _add(self, reading: Reading) -> None:
        seconds, number = self._clock() - self._began, self._taken
        label = f"Sample {number}"
        self._snapshots.append(
            Snapshot(
                number - 1,
                label,
                "generation",
                None,
                number,
                seconds,
                dict(reading),
                unavailable=dict(self.unavailable),
            )
        )
        if len(self._snapshots) > self._kept:
            self._stride *= 2
            del self._snapshots[1::2]
