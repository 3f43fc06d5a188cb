"""The loop of the sidecar: follows the processes of a job, and visits those whose memory rises."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.errors import UsageError
from leakguard.live.run_directory import RunDirectory
from leakguard.live.sidecar.followed import FollowedProcess
from leakguard.live.sidecar.job_processes import JobProcesses
from leakguard.live.sidecar.pod_record import PodRecord
from leakguard.live.sidecar.start import lock_of
from leakguard.live.sidecar.visits import Visits

# Seconds from one sample to the next, or more: the sidecar takes at most this share of a core.
_SAMPLE_EVERY, _OWN_SHARE = 1.0, 0.01
# Seconds that the last visits may take once the job is over.
_LAST_VISITS = 60.0
# The most files of processes without a guard. Chosen: a job that starts workers all the time would
# fill the run directory.
_MOST_OUTSIDE_FILES = 256
# What it adds to its own niceness, and to the kernel's liking to kill it when memory runs out:
# rather the sidecar than the job.
_NICER, _KILLED_FIRST = 5, "500"


@dataclass(slots=True)
class Sidecar:
    """Follows one job on this machine until its last process has ended."""

    job: RunDirectory
    processes: JobProcesses
    visits: Visits
    pod: PodRecord
    _root: int
    _followed: dict[tuple[int, float], FollowedProcess] = field(default_factory=dict)
    _files: int = 0

    @classmethod
    def of(cls, folder: Path, root: int, file: Path | None = None) -> Sidecar:
        """Return the sidecar of a run directory, which a process with that run file has started."""
        processes = JobProcesses(folder)
        processes.add(root, file)
        pod = PodRecord(folder, root)
        return cls(RunDirectory(os.fspath(folder)), processes, Visits(folder), pod, root)

    def follow(self) -> None:
        """Follow the job to its end."""
        pause = 0.0
        while True:
            time.sleep(pause)
            spent = time.process_time()
            if not self.look():
                break
            pause = max(_SAMPLE_EVERY, (time.process_time() - spent) / _OWN_SHARE)
        self.end()

    def look(self) -> bool:
        """Take a sample of each process; return False if there is none any more."""
        now = self.processes.now()
        for who in self._followed.keys() - now.items():
            self._followed.pop(who).end()
        for pid, began in now.items():
            if (pid, began) not in self._followed and self._files < _MOST_OUTSIDE_FILES:
                self._add(pid, began)
        self.pod.look(now)
        for one in list(self._followed.values()):
            self._sample(one)
        self._hear()
        return bool(now)

    def end(self) -> None:
        """Write what is known, and wait for the visits that are under way."""
        for one in self._followed.values():
            one.end()
        self.pod.write()
        self.visits.wait(_LAST_VISITS)

    def _add(self, pid: int, began: float) -> None:
        with contextlib.suppress(UsageError):  # it has just ended
            self._followed[pid, began] = FollowedProcess.of(pid, began, pid == self._root, self.job)
            self._files += 1

    def _sample(self, one: FollowedProcess) -> None:
        try:
            width = one.sample()
        except ProcessLookupError:
            self._followed.pop((one.pid, one.began)).end()
            return
        is_due = time.monotonic() >= one.next_visit and not self.visits.is_at(one.pid)
        if width is not None and is_due and self.visits.has_room:
            problem = self.visits.begin(one.pid, one.began, width * _SAMPLE_EVERY)
            self._put_off(one, problem)

    def _hear(self) -> None:
        """Learn from visits that have ended."""
        for visited in self.visits.over():
            for one in self._followed.values():
                if one.pid == visited.pid:
                    self._put_off(one, visited.problem)
                    one.next_visit = float("inf") if visited.found else one.next_visit

    def _put_off(self, one: FollowedProcess, problem: str | None) -> None:
        """Leave a process alone for a while; from visit to visit it is twice as long."""
        one.next_visit, one.pause = time.monotonic() + one.pause, 2 * one.pause
        one.ascent.begin_anew()
        if problem is not None:
            one.run.unavailable["objects"] = problem


def main(folder: str, root: str, file: str = "") -> None:
    """Be the sidecar of a run directory, unless there is one."""
    place = Path(folder)
    with contextlib.suppress(OSError), lock_of(place).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):
            os.nice(_NICER)
            Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")
        Sidecar.of(place, int(root), Path(file) if file else None).follow()
        lock_of(place).unlink(missing_ok=True)
