"""A run: the snapshots of one process from start to end, and the facts about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from leakguard.model.brink import Failure
from leakguard.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What does not change during a run.

    ``source`` says what the snapshots were read from: ``guard`` (a live process), ``jsonl``,
    ``log``, ``outside`` (samples of a process) or ``curve`` (a file of another tool).
    ``memory_limit`` is the cgroup's or machine's limit, in bytes. ``ignore`` holds the path or type
    patterns whose findings the user chose to ignore.

    For one process of several, ``job`` names the run directory. ``rank``, ``local_rank`` and
    ``world_size`` are the launcher's. ``role`` names a process that a rank does not identify
    (``loader0``). ``forked`` is true if the process began with the pages of its parent.
    ``attached`` is true if the looks were taken by ``leakguard attach``.
    ``observer`` is the pid of the process that watched this one from outside; None if the process
    watched itself. ``series_of`` says what ``role`` names if that is no process: ``pod``, ``GPU``.
    ``generation_means`` says what one generation is, if known. ``without_scan`` says why the heap
    was walked in Python although the compiled scan was requested; None in all other cases.
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
    attached: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """The snapshots of one process in the order they were taken.

    ``part`` is (k, n) when the file held n runs one after the other (restarts) and this is the
    k-th. ``notes`` say what the reader skipped and why. ``finished`` is true if the run recorded
    its end, false if its last record is a snapshot. ``left_out`` counts generations that a long run
    dropped to save memory; they lie between the generations that are kept. ``failure`` is set if
    memory ran out by an exception that ended the run. ``is_over`` is true if no process writes the
    file any more, and None if that is not known.
    """

    info: RunInfo
    snapshots: tuple[Snapshot, ...]
    notes: tuple[str, ...] = ()
    part: tuple[int, int] = (1, 1)
    finished: bool = False
    left_out: int = 0
    failure: Failure | None = None
    is_over: bool | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Give only the number of snapshots and generations; the whole value may be megabytes."""
        shots, rounds = len(self.snapshots), self.generation_count
        return f"<Run {self.info.name or ''}: {shots} snapshots, {rounds} generations>"

    @property
    def is_part(self) -> bool:
        """True for a run file without an end: still running, killed, or the file was truncated."""
        return self.info.source == "jsonl" and not self.finished

    @property
    def baseline(self) -> Snapshot | None:
        """The snapshot that growth is measured against: the marked baseline, or else the first."""
        marked = (s for s in self.snapshots if s.moment == "baseline")
        return next(marked, self.snapshots[0] if self.snapshots else None)

    @property
    def generations(self) -> tuple[int, ...]:
        """The numbers of the generations in the snapshots, in order."""
        return tuple(
            dict.fromkeys(s.generation for s in self.snapshots if s.generation is not None)
        )

    @property
    def recorded_generations(self) -> int:
        """How many generations were recorded, those left out included."""
        return len(self.generations) + self.left_out

    @property
    def generation_count(self) -> int:
        """How many generations the run had; grouped ones count as one."""
        return self.recorded_generations + self._passed_until(None)

    def _passed_until(self, number: int | None) -> int:
        """Return how many generations were passed over until ``number``.

        Those before generations that were left out are assumed to be as many as before the others.
        """
        passed = sum(
            s.passed
            for s in self.snapshots
            if s.passed and (number is None or (s.generation or 0) <= number)
        )
        known = len(self.generations)
        return passed + passed * self.left_out // max(known, 1)

    def generations_until(self, number: int | None) -> int:
        """Return how many generations have ended once ``number`` has; None stands for the last.

        If some generations were grouped, all of them are numbered from 1. If some were left out,
        they are assumed to lie evenly among those that are kept.
        """
        known = self.generations
        seen = [g for g in known if number is None or g <= number]
        if seen and any(s.taken for s in self.snapshots):
            return seen[-1]
        left_out = self.left_out * len(seen) // max(len(known), 1)
        return len(seen) + left_out + self._passed_until(number)

    @property
    def watch_seconds(self) -> float:
        """The seconds that the guard's work took in the whole run."""
        total = self.snapshots[-1].cost.total if self.snapshots else None
        return fsum(s.cost.seconds for s in self.snapshots) if total is None else total

    @property
    def tracing_seconds(self) -> float:
        """The seconds that tracing added to the traced generations."""
        return fsum(
            (end.seconds - before.seconds) * (1 - 1 / end.cost.slowdown)
            for before, end in pairwise(self.generation_ends())
            if end.cost.slowdown and end.cost.slowdown > 1 and end.seconds and before.seconds
        )

    @property
    def unavailable(self) -> Mapping[str, str]:
        """Why each probe found nothing, by its name; the last reason counts.

        Holders that a later look found are not missing, although an earlier one put them off.
        """
        reasons: dict[str, str] = {}
        for snapshot in self.snapshots:
            if snapshot.holders:
                reasons.pop("holders", None)
            reasons.update(snapshot.unavailable)
        return reasons

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases seen inside generations, in order of first appearance."""
        seen = (s.phase for s in self.snapshots if s.phase and s.generation is not None)
        return tuple(dict.fromkeys(seen))

    def of_phase(self, phase: str) -> Iterator[Snapshot]:
        """Yield the snapshots taken at the end of ``phase`` in a generation."""
        return (s for s in self.snapshots if s.phase == phase and s.generation is not None)

    def generation_ends(self) -> tuple[Snapshot, ...]:
        """Return the snapshot at the end of each generation; without one, its last snapshot.

        A phase that ends a generation inside of itself has its own snapshot after that.
        """
        last: dict[int, Snapshot] = {}
        for snapshot in self.snapshots:
            if snapshot.generation is not None and snapshot.moment != "end":
                known = last.get(snapshot.generation, snapshot)
                if snapshot.moment == "generation" or known.moment != "generation":
                    last[snapshot.generation] = snapshot
        return tuple(last.values())

    def while_looping(self) -> tuple[Snapshot, ...]:
        """Return the snapshots up to the end of the last generation.

        Later snapshots are left out: the functions of the program have returned and released what
        they held, so these snapshots do not belong to the loop's development. For a run without
        generations, return all snapshots.
        """
        if all(s.moment != "generation" for s in self.snapshots):
            return self.snapshots
        return tuple(s for s in self.snapshots if s.moment != "end" or s.ends_loop)
