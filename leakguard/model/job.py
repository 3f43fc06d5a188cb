"""A job: processes that ran together, each with a run of its own in one run directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.finding import Verdict
from leakguard.model.pod import Pod
from leakguard.model.run import Run

#: A ``lost`` process ended without notice; an ``unknown`` one may be lost or still running.
State = Literal["running", "finished", "lost", "unknown"]


@dataclass(frozen=True, slots=True, repr=False)
class Member:
    """One process of a job with its latest run; ``restarts`` counts its earlier runs.

    ``outside`` has what else was seen of it from outside, if it has no guard of its own: samples by
    the rounds of its parent, and by the second.
    """

    run: Run
    state: State
    restarts: int = 0
    outside: tuple[Run, ...] = ()

    @property
    def label(self) -> str:
        """The name of the process: ``rank 3``, ``rank 3 loader0``, ``child 4711 of rank 0``."""
        info = self.run.info
        rank = None if info.rank is None else f"rank {info.rank}"
        if info.observer is not None and info.role is not None:
            return f"child {info.pid} of {rank or 'main'}"
        return " ".join(word for word in (rank, info.role) if word) or "main"


@dataclass(frozen=True, slots=True)
class Job:
    """The processes of a run directory, by rank.

    Attributes:
        name: the name of the directory.
        members: each process once.
        others: runs in the same folder that belong to no job.
        notes: files that could not be read, and why.
        of: what a member is: a ``process``, or a ``pod`` or ``GPU`` that a log describes.
        pods: what the pods of its processes hold beside them.
    """

    name: str
    members: tuple[Member, ...]
    others: tuple[Run, ...] = ()
    notes: tuple[str, ...] = ()
    of: str = "process"
    pods: tuple[Pod, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """One process in the report of a job.

    Attributes:
        label: unique in the job.
        rss: bytes in RAM at the last snapshot, shared pages included.
        pss: private bytes plus this process's share of each shared page; None if unknown.
        private: bytes in pages that no other process has; None if unknown.
        bytes_per_generation: growth of the process in bytes per generation; 0 if none.
        what: what grows, in a few words; empty if nothing grows.
    """

    label: str
    rank: int | None
    pid: int | None
    host: str | None
    state: State
    restarts: int
    verdict: Verdict
    generations: int
    rss: int | None
    pss: int | None
    private: int | None
    bytes_per_generation: float
    what: str
