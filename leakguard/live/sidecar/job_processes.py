"""Which processes of this machine belong to a job."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.capture.outside import descendants, environment_of, is_helper, stat_fields
from leakguard.live.outside_run import run_file_of
from leakguard.live.run_directory import job_of_environment
from leakguard.live.sidecar.start import host_name

# Every so many calls, processes are searched that descend from no process known so far.
_SEARCHED_EVERY = 5
# Processes that are followed at a time. Of a larger job, only the first ones are followed.
_MOST_FOLLOWED = 64
# The states of a process that has ended, and the place of its start time (field 22) after its name.
# Source: proc_pid_stat(5).
_OVER, _STARTED = (b"Z", b"X"), 19


def began_of(pid: int) -> float | None:
    """Return the start time of a running process in ticks since boot; None if it has ended."""
    try:
        fields = stat_fields(pid)
        return None if fields[0] in _OVER else float(fields[_STARTED])
    except (OSError, IndexError, ValueError):
        return None


@dataclass(slots=True)
class _Root:
    """A process that makes those below it part of the job, and when it no longer does.

    ``file`` is the run file of its guard: once that is closed, the guard has ended. Without it, the
    process is of the job until its end.
    """

    pid: int
    began: float
    file: Path | None = None
    _descriptor: str = ""

    @property
    def is_of_job(self) -> bool:
        """Whether it still is of the job."""
        if began_of(self.pid) != self.began:
            return False
        return self.file is None or self._has_open(self.file)

    def _has_open(self, file: Path) -> bool:
        """Return whether it has the run file open, as far as its open files can be seen."""
        text = os.fspath(file)
        with contextlib.suppress(OSError):
            if os.readlink(self._descriptor) == text:  # noqa: PTH115 - called each second
                return True
        folder = f"/proc/{self.pid}/fd"
        with contextlib.suppress(OSError):
            for number in os.listdir(folder):  # noqa: PTH208 - names only
                with contextlib.suppress(OSError):
                    if os.readlink(f"{folder}/{number}") == text:  # noqa: PTH115
                        self._descriptor = f"{folder}/{number}"
                        return True
        return False


@dataclass(slots=True)
class JobProcesses:
    """The processes below the first guard, below other guards of the job, and by environment.

    A process is known by its pid and its start time, because pids are reused.
    """

    folder: Path
    _roots: dict[int, _Root] = field(default_factory=dict)
    _others: set[int] = field(default_factory=set)
    _calls: int = 0

    def add(self, pid: int, file: Path | None = None) -> None:
        """Add a process, whose descendants are of the job as well, while it has ``file`` open."""
        began = began_of(pid)
        if began is not None:
            self._roots[pid] = _Root(pid, began, file)

    def now(self) -> dict[int, float]:
        """Return the living processes with their start times; empty once the job is over."""
        if self._calls % _SEARCHED_EVERY == 0 or not self._of_job():
            self._search()
        self._calls += 1
        found = {root.pid: root.began for root in self._of_job()}
        for root in list(found):
            for pid in descendants(root):
                if len(found) >= _MOST_FOLLOWED:
                    return found
                if pid not in found and (began := began_of(pid)) is not None:
                    found[pid] = began
        return found

    def _of_job(self) -> list[_Root]:
        self._roots = {pid: root for pid, root in self._roots.items() if root.is_of_job}
        return list(self._roots.values())

    def _search(self) -> None:
        """Add processes that write a run of the job, and those whose environment names it."""
        for path in self.folder.glob(f"*-{host_name()}-*.jsonl"):
            number = path.stem.rpartition("-")[2]
            if number.isdigit() and int(number) not in self._roots:
                file = run_file_of(int(number))  # proves that the process itself writes there
                if file is not None and file.parent == self.folder:
                    self.add(int(number), file)
        here = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
        for pid in here - self._others - self._roots.keys() - {os.getpid()}:
            named = job_of_environment(environment_of(pid))
            if named is not None and self._is_folder(named) and not is_helper(pid):
                self.add(pid)
        self._others = here

    def _is_folder(self, place: str) -> bool:
        return os.path.realpath(place) == os.fspath(self.folder)
