"""Reads a run directory: which files belong to a job, which are restarts, which still grow."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.model.job import Job, Member, State
from leakguard.model.pod import Pod
from leakguard.model.secrets import without_secrets
from leakguard.store import jsonl
from leakguard.store.pod_file import read_pods
from leakguard.store.remote_copy import file_system
from leakguard.store.run_lock import is_locked

# The resolution in seconds with which starts are recorded.
_START_RESOLUTION = 0.001


@dataclass(frozen=True, slots=True)
class _File:
    """One run of a run directory, its state, and its first and last times (epoch seconds)."""

    run: Run
    state: State
    began: float
    ended: float


def read_job(folder: Path, *, is_copy: bool = False) -> Job | None:
    """Read the processes of a run directory; None if the folder holds no job.

    ``is_copy`` is true for files that were fetched from elsewhere: no process here writes to them.

    Raises:
        UnreadableRun: the folder cannot be read.
    """
    notes: list[str] = []
    pods = tuple(read_pods(folder))
    return job_of(list(_read(folder, notes)), notes, pods, is_copy=is_copy)


def job_of(
    read: Sequence[tuple[Path, list[Run]]],
    notes: Iterable[str] = (),
    pods: tuple[Pod, ...] = (),
    *,
    is_copy: bool = False,
) -> Job | None:
    """Return the job that the runs of these files form; None if no run belongs to a job."""
    files: list[_File] = []
    others: list[Run] = []
    for path, runs in read:
        others += [run for run in runs if run.info.job is None]
        mine = [run for run in runs if run.info.job is not None]
        files += [_file(run, _state(run, path, is_copy)) for run in mine]
    if not files:
        return None
    observers = {(pod.host, pod.observer) for pod in pods}
    members = sorted(_of_now(list(_members(files)), observers), key=_by_rank)
    if not members:
        return None
    name = max(files, key=lambda file: file.began).run.info.job or "job"
    kinds = {member.run.info.series_of or "process" for member in members}
    of = kinds.pop() if len(kinds) == 1 else "series"
    return Job(name, tuple(members), tuple(others), tuple(notes), of, pods)


@contextmanager
def fetched(url: str) -> Iterator[Path]:
    """Fetch a run directory from an fsspec URL into a temporary folder for the ``with`` block.

    Raises:
        UnreadableRun: there is no run directory, or it cannot be reached.
        UsageError: a package that such a URL needs is not installed.
    """
    system, path = file_system(url)
    with tempfile.TemporaryDirectory(prefix="leakguard-") as folder:
        copy = Path(folder) / (path.rstrip("/").rpartition("/")[2] or "job")
        copy.mkdir()
        try:
            system.invalidate_cache()
            for file in system.glob(f"{path.rstrip('/')}/*.jsonl"):
                (copy / Path(file).name).write_bytes(system.cat_file(file))
        except Exception as error:  # each file system raises its own
            said = " ".join(str(error).split())
            told = without_secrets(f"cannot read {url}: {said or type(error).__name__}")
            raise UnreadableRun(told) from None
        yield copy


def fetched_job(url: str) -> Job:
    """Read the processes of a run directory at a URL.

    Raises:
        UnreadableRun: there is no run directory, or it cannot be reached.
        UsageError: a package that such a URL needs is not installed.
    """
    with fetched(url) as folder:
        job = read_job(folder, is_copy=True)
    if job is None:
        raise UnreadableRun(without_secrets(f"{url} holds no *.jsonl file that a guard wrote"))
    return job


def _read(folder: Path, notes: list[str]) -> Iterator[tuple[Path, list[Run]]]:
    """Yield the runs of each file; the reason why a file cannot be read is added to ``notes``."""
    for path in sorted(folder.glob("*.jsonl")):
        try:
            yield path, jsonl.read_runs(path)
        except (UnreadableRun, OSError) as error:
            notes.append(f"{path.name} was left out: {_why_unreadable(error, path)}")


def _why_unreadable(error: Exception, path: Path) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error).removeprefix(os.fspath(path)).strip()


def _state(run: Run, path: Path, is_copy: bool) -> State:
    if run.finished:
        return "finished"
    if is_copy:
        return "unknown"
    if run.info.observer is None:
        return "running" if is_locked(path) else "lost"
    # an observer from outside holds no lock, so only its process is checked
    with contextlib.suppress(OSError):
        os.kill(run.info.observer, 0)
        return "unknown"
    return "lost"


def _file(run: Run, state: State) -> _File:
    try:
        started = datetime.fromisoformat(run.info.started or "").timestamp()
    except ValueError:
        started = 0.0
    times = [s.seconds for s in run.snapshots if s.seconds is not None] or [0.0]
    return _File(run, state, started + times[0], started + times[-1])


def _members(files: Iterable[_File]) -> Iterator[Member]:
    """Yield each process once: a run that began after one of the same rank ended is a restart."""
    current: dict[tuple[object, ...], list[list[_File]]] = {}
    for file in sorted(files, key=lambda file: (file.began, file.run.info.pid or 0)):
        lines = current.setdefault(_key(file.run), [])
        line = next((one for one in lines if one[-1].ended <= file.began + _START_RESOLUTION), None)
        if line is None:
            lines.append([file])
        else:
            line.append(file)
    for lines in current.values():
        for line in lines:
            yield Member(line[-1].run, line[-1].state, len({one.run.info.pid for one in line}) - 1)


def _key(run: Run) -> tuple[object, ...]:
    info = run.info
    if info.observer is not None:
        return info.rank, info.host, info.observer, info.pid
    return info.rank, info.role


def _of_now(members: list[Member], observers: Set[tuple[object, object]]) -> Iterator[Member]:
    """Leave out processes of an earlier start of the job, and second records of a process.

    What a guard wrote counts before what ``leakguard attach`` saw, and this before what was seen
    from outside; of two that saw it from outside, the one with more generations.
    """
    inside = [member for member in members if member.run.info.observer is None]
    sizes = [(m.run.info.started or "", m.run.info.world_size) for m in inside]
    size = max(((when, n) for when, n in sizes if n is not None), default=("", None))[1]
    here = {_process_of(member) for member in inside} | observers
    best: dict[tuple[object, object], Member] = {}
    for member in sorted(members, key=_closeness):
        best[_process_of(member)] = member
    kept = [
        member
        for member in members
        if not _is_left_over(member, size, here)
        and (member.run.info.pid is None or best[_process_of(member)] is member)
    ]
    outside: defaultdict[tuple[object, object], list[Run]] = defaultdict(list)
    for member in sorted(members, key=_closeness):
        if member.run.info.observer is not None:
            outside[_process_of(member)].append(member.run)
    for member in kept:
        info = member.run.info
        seen = outside[_process_of(member)] if info.attached or info.observer is not None else []
        others = tuple(run for run in seen if run is not member.run)
        yield replace(_unique(member, kept), outside=others)


def _is_left_over(member: Member, size: int | None, here: Set[tuple[object, object]]) -> bool:
    """Return whether a process is of an earlier start: a larger one, or one seen by another."""
    info = member.run.info
    if size is not None and info.rank is not None and info.rank >= size:
        return True
    return info.observer is not None and (info.host, info.observer) not in here


def _process_of(member: Member) -> tuple[object, object]:
    return member.run.info.host, member.run.info.pid


def _closeness(member: Member) -> tuple[bool, bool, int, str]:
    """Order the records of one process by how much they tell."""
    info = member.run.info
    rounds = 0 if info.observer is None else member.run.generation_count
    return info.observer is None, not info.attached, rounds, info.started or ""


def _unique(member: Member, members: list[Member]) -> Member:
    """Add the pid to the role if two processes would have the same label."""
    if sum(other.label == member.label for other in members) < 2:
        return member
    info = member.run.info
    role = f"{info.role or 'process'} {info.pid}"
    return replace(member, run=replace(member.run, info=replace(info, role=role)))


def _by_rank(member: Member) -> tuple[object, ...]:
    info = member.run.info
    watched = info.observer is not None
    return info.rank is None, info.rank or 0, watched, info.role or "", info.pid or 0
