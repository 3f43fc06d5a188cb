"""What a loop takes, generation by generation, in step with a partner on the same core."""

from __future__ import annotations

import contextlib
import itertools
import resource
import socket
import time
from array import array
from dataclasses import dataclass
from pathlib import Path

_BEHIND = 0.03  # seconds: some turns on the core


@dataclass
class Measured:
    """CPU seconds of each generation, looks in copies included, and what the whole took.

    The first generation has all that comes before it, such as the guard's baseline; the last one
    the report. ``guard`` is (generation, CPU seconds in its snapshots, deepest tier), as it says.
    """

    cpu_seconds: list[float]
    system_seconds: float
    page_faults: int
    guard: list[tuple[int, float, int]]


@dataclass
class Partner:
    """The process on the same core: each generation of the two begins together.

    Or nearly so. The one that arrives last would always be a moment behind, and being behind may
    cost or save something: so they take turns, by even and odd generations.
    """

    line: socket.socket
    behind_when_odd: bool

    def begin(self, generation: int) -> None:
        """Return when the partner has come as far."""
        with contextlib.suppress(OSError):  # it has ended: whoever reads its result is told
            self.line.sendall(b".")
            self.line.recv(1)
        if bool(generation % 2) == self.behind_when_odd:
            time.sleep(_BEHIND)


class Stopwatch:
    """Takes the CPU time of a loop of so many generations."""

    def __init__(self, generations: int, partner: Partner | None = None) -> None:
        # Of its full length from the start: a list that grows would be a suspect itself.
        self._marks = array("d", bytes(8 * (generations + 1)))
        self._partner = partner

    def start(self) -> None:
        """Begin with what comes before the first generation."""
        self._wait(0)
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        self._marks[0] = _cpu_seconds()

    def begin(self, generation: int) -> None:
        """End the generation before this one; they count from 1."""
        self._wait(generation)
        self._marks[generation - 1] = self._marks[generation - 1] or _cpu_seconds()

    def stop(self, run: Path) -> Measured:
        """End the last generation, and read what the guard recorded, where there was one."""
        self._marks[-1] = _cpu_seconds()
        after = resource.getrusage(resource.RUSAGE_SELF)
        return Measured(
            [end - begin for begin, end in itertools.pairwise(self._marks)],
            after.ru_stime - self._before.ru_stime,
            after.ru_minflt - self._before.ru_minflt,
            _spent_by_guard(run),
        )

    def _wait(self, generation: int) -> None:
        if self._partner is not None:
            self._partner.begin(generation)


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended, its copies."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _spent_by_guard(path: Path) -> list[tuple[int, float, int]]:
    if not path.exists():
        return []
    from leakguard import load

    spent: dict[int, tuple[float, int]] = {}
    for snapshot in load(path).snapshots:
        if snapshot.generation is not None:
            seconds, tier = spent.get(snapshot.generation, (0.0, 0))
            cost = snapshot.cost
            spent[snapshot.generation] = seconds + cost.seconds, max(tier, cost.tier)
    return [(number, seconds, tier) for number, (seconds, tier) in spent.items()]
