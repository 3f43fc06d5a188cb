"""One program attached to: the verdict, how long it stood still, what it had more of afterwards."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leakguard import diagnose
from leakguard.errors import UsageError
from leakguard.launch.attach.attached_run import AttachedRun, Timetable
from leakguard.launch.attach.attachment import attached_to

_TICK = os.sysconf("SC_CLK_TCK")
_STOPPED = ("t", "T")
# Seconds without anybody attached in which CPU time and memory are read.
_CALM = 2.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program.

    Attributes:
        verdict: of the report, or why there is none.
        holder: what the first finding is held by, and where it was made.
        stopped: seconds for which all threads were stopped, to put the call in.
        copying: the longest time for which Python's lock was held, to copy the process.
        looking: CPU seconds of the copies for each look.
        memory: bytes of private memory that the program had more, once we had left.
        idle: CPU seconds a second that our leave has left it with more than before.
        alive: whether it went on, with as many threads and files as before.
    """

    verdict: str
    holder: str
    stopped: float
    copying: float
    looking: float
    memory: int
    idle: float
    alive: bool


def attach_to(pid: int, timetable: Timetable) -> Outcome:
    """Attach to a process as the command does, and measure it before, meanwhile and after."""
    before, threads, files = _pace(pid), _count(pid, "task"), _count(pid, "fd")
    memory = _private(pid)
    try:
        with attached_to(pid, 10.0) as session:
            run = AttachedRun(session, timetable).follow()
    except UsageError as refusal:
        return Outcome(f"refused: {refusal}", "", 0.0, 0.0, 0.0, 0, 0.0, _count(pid, "task") > 0)
    grown = _private(pid) - memory
    report = diagnose(run)
    first = report.findings[0] if report.findings else None
    costs = session.costs
    return Outcome(
        verdict=report.verdict,
        holder="" if first is None else f"{first.held_by}, {first.created_at}",
        stopped=costs.stood_still,
        copying=max(costs.copying, default=0.0),
        looking=costs.looking / max(len(run.generations), 1),
        memory=grown,
        idle=_pace(pid) - before,
        alive=(threads, files) == (_count(pid, "task"), _count(pid, "fd")),
    )


def _pace(pid: int) -> float:
    """Return the CPU seconds that a process takes in a second."""
    began, ticks = time.monotonic(), _ticks(pid)
    time.sleep(_CALM)
    return (_ticks(pid) - ticks) / _TICK / (time.monotonic() - began)


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _count(pid: int, folder: str) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/{folder}").iterdir()))
    except OSError:
        return 0


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) * 1024


@contextmanager
def stops_of(pid: int) -> Iterator[Callable[[], float]]:
    """Yield what tells for how long a process has been stopped by another so far.

    It is looked at each millisecond, so that shorter stops may be missed: it is meant for those of
    a debugger.
    """
    total, over = 0.0, threading.Event()

    def watch() -> None:
        nonlocal total
        last = time.perf_counter()
        while not over.wait(0.001):
            now = time.perf_counter()
            total += (now - last) if _state(pid) in _STOPPED else 0.0
            last = now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: total
    finally:
        over.set()
        thread.join()


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def temporary_run() -> Path:
    """Return where the run of a measurement may be written."""
    return Path(tempfile.mkdtemp()) / "run.jsonl"
