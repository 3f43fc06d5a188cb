"""Looks into processes of a job: each visit is ``leakguard attach`` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from leakguard.live.outside_run import run_file_of
from leakguard.live.sidecar.start import command

# Visits at a time, and the most visits of a job that find a leak. Chosen: a visit takes a third of
# a core, and workers of one pool leak alike, so that a few of them tell what the others do.
_AT_A_TIME, _MOST_FOUND = 2, 8
# Looks of a visit, and the least and the most seconds from one to the next.
_LOOKS, _LEAST_EVERY, _MOST_EVERY = 12, 2.0, 60.0
# Seconds that a process may take to come back to Python code: a worker that waits for its next task
# does not, and what it leaks it leaks in its tasks.
_VISIT_PATIENCE = 30.0
_FOUND = 1


@dataclass(frozen=True, slots=True)
class Visited:
    """A visit that is over; ``problem`` is why nothing could be seen."""

    pid: int
    found: bool
    problem: str | None


@dataclass(slots=True)
class Visits:
    """The visits to the processes of one job, which write their runs into its folder."""

    folder: Path
    _under_way: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _found: int = 0

    @property
    def has_room(self) -> bool:
        """Whether another visit may begin now."""
        return len(self._under_way) < _AT_A_TIME and self._found < _MOST_FOUND

    def is_at(self, pid: int) -> bool:
        """Whether a process is being visited."""
        return pid in self._under_way

    def begin(self, pid: int, began: float, window: float) -> str | None:
        """Begin a visit, unless the process has a guard; return why it cannot be visited.

        Args:
            pid: the process.
            began: its start time.
            window: seconds in which its memory has risen noticeably.
        """
        problem = _hindrance(pid)
        if problem is None:
            every = min(max(window, _LEAST_EVERY), _MOST_EVERY)
            words = command(
                "attach", str(pid), "--began", f"{began!r}", "--every", f"{every:g}",
                "--looks", f"{_LOOKS}", "--wait", f"{_VISIT_PATIENCE:g}", "--quiet",
                "--grows", "--fail-on", "leak", "-o", f"{self.folder}/",
            )  # fmt: skip
            self._under_way[pid] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        return problem

    def over(self) -> list[Visited]:
        """Return the visits that have ended since the last call."""
        ended = [pid for pid, process in self._under_way.items() if process.poll() is not None]
        return [self._ended(pid, self._under_way.pop(pid)) for pid in ended]

    def wait(self, seconds: float) -> None:
        """Wait for the visits that are under way: their processes have ended."""
        for process in self._under_way.values():
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.terminate()

    def _ended(self, pid: int, process: subprocess.Popen[str]) -> Visited:
        assert process.stderr is not None
        with process.stderr as said:
            lines = said.read().splitlines()
        found = process.returncode == _FOUND
        self._found += found
        problem = lines[-1].removeprefix("leakguard: ") if lines and not found else None
        return Visited(pid, found, problem if process.returncode else None)


def _hindrance(pid: int) -> str | None:
    """Return why a process is not visited: it watches itself, or is no Python."""
    if run_file_of(pid) is not None:
        return "it has a guard"
    try:
        name = os.readlink(f"/proc/{pid}/exe").rpartition("/")[2]  # noqa: PTH115 - a name only
    except OSError:
        return f"process {pid} has ended"
    if not name.startswith("python") and name != Path(sys.executable).resolve().name:
        return f"it runs {name}, which is no Python interpreter"
    return None
