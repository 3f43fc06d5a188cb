"""A run: the snapshots of one process from start to end, and the facts about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from leakguard.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What does not change during a run.

    ``source`` says what the snapshots were read from: ``guard`` (a live process), ``jsonl``,
    ``log``, ``outside`` (samples of a process) or ``curve`` (a file of another tool).
    ``memory_limit`` is the cgroup's or machine's, in bytes. ``ignore`` holds the path or type
    patterns the user asked not to be told about.

    Of one process among many, ``job`` names the run directory; ``rank``, ``local_rank`` and
    ``world_size`` are the launcher's, and ``role`` says what the process is where a rank does not
    (``loader0``). ``forked`` is true where it began with the pages of its parent. ``observer`` is
    the pid of the process that watched this one from outside; None where it watched itself.
    ``series_of`` says what a ``role`` names where that is no process: ``pod``, ``GPU``.
    ``generation_means`` says what one generation is, where that is known. ``without_scan`` says why
    objects were walked in Python, where a compiled scan was wanted and none could be used.
    """

    source: str = "guard"
    name: str | None = None
    started: str | None = None
    command: str | None = None
    pid: int | None = None
    rank: int | None = None
    python: str | None = None
    platform: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    memory_limit: int | None = None
    large_object: int | None = None
    max_overhead: float | None = None
    ignore: tuple[str, ...] = ()
    job: str | None = None
    host: str | None = None
    role: str | None = None
    local_rank: int | None = None
    world_size: int | None = None
    forked: bool = False
    observer: int | None = None
    generation_means: str | None = None
    without_scan: str | None = None
    series_of: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """The snapshots of one process in the order they were taken.

    ``part`` is (k, n) when the file held n runs one after the other (restarts) and this is the
    k-th. ``notes`` say what the reader skipped and why. ``finished`` is true when the run said
    that it ended, false when its last word is a snapshot. ``left_out`` counts the generations of a
    long run in memory that lay between the others and are kept no longer.
    """

    info: RunInfo
    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()
    part: tuple[int, int] = (1, 1)
    finished: bool = False
    left_out: int = 0

    def __repr__(self) -> str:
        """Say how much there is; the whole value may be megabytes."""
        shots, rounds = len(self.snapshots), self.recorded_generations
        return f"<Run {self.info.name or ''}: {shots} snapshots, {rounds} generations>"

    @property
    def is_part(self) -> bool:
        """True of a run file without its end: the run goes on, was killed, or the file was cut."""
        return self.info.source == "jsonl" and not self.finished

    @property
    def baseline(self) -> Snapshot | None:
        """The snapshot everything is compared with: the one marked so, or the first."""
        marked = (s for s in self.snapshots if s.moment == "baseline")
        return next(marked, self.snapshots[0] if self.snapshots else None)

    @property
    def generations(self) -> tuple[int, ...]:
        """The generations seen, in order."""
        return tuple(
            dict.fromkeys(s.generation for s in self.snapshots if s.generation is not None)
        )

    @property
    def recorded_generations(self) -> int:
        """How many generations were recorded, kept or left out."""
        return len(self.generations) + self.left_out

    def generations_until(self, number: int | None) -> int:
        """Return how many generations had ended after ``number``; None stands for the last.

        Where some were recorded as one, all of them are numbered from 1; where some are left out,
        they lie evenly among the others.
        """
        known = self.generations
        seen = [g for g in known if number is None or g <= number]
        if seen and any(s.taken for s in self.snapshots):
            return seen[-1]
        return len(seen) + self.left_out * len(seen) // max(len(known), 1)

    @property
    def watch_seconds(self) -> float:
        """What the guard's work took in all."""
        total = self.snapshots[-1].cost.total if self.snapshots else None
        return fsum(s.cost.seconds for s in self.snapshots) if total is None else total

    @property
    def tracing_seconds(self) -> float:
        """How much longer the traced generations took than they would have without."""
        return fsum(
            (end.seconds - before.seconds) * (1 - 1 / end.cost.slowdown)
            for before, end in pairwise(self.generation_ends())
            if end.cost.slowdown and end.cost.slowdown > 1 and end.seconds and before.seconds
        )

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases seen inside generations, in order of first appearance."""
        seen = (s.phase for s in self.snapshots if s.phase and s.generation is not None)
        return tuple(dict.fromkeys(seen))

    def of_phase(self, phase: str) -> Iterator[Snapshot]:
        """Yield the snapshots taken at the end of ``phase`` in a generation."""
        return (s for s in self.snapshots if s.phase == phase and s.generation is not None)

    def generation_ends(self) -> tuple[Snapshot, ...]:
        """Return the last snapshot of each generation."""
        last: dict[int, Snapshot] = {}
        for snapshot in self.snapshots:
            if snapshot.generation is not None and snapshot.moment != "end":
                last[snapshot.generation] = snapshot
        return tuple(last.values())

    def while_looping(self) -> tuple[Snapshot, ...]:
        """Return the snapshots up to the end of the last generation.

        There the functions of the program have returned, and what they held is gone: that is no
        course of the loop. A run without generations has nothing else.
        """
        if all(s.moment != "generation" for s in self.snapshots):
            return self.snapshots
        return tuple(s for s in self.snapshots if s.moment != "end" or s.ends_loop)
