"""Selects evenly spaced generations of a run that recorded them ever further apart.

If the program does not define a generation, ``leakguard run`` begins with small ones, because the
run may be short, and doubles their size whenever they have become many. If the program defines
generations of milliseconds, only the first ones are all measured. Without a selection, the first
minute would outweigh the rest of an hour: half of the judged generations would be warm-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.tolerance import MOMENTS_ENOUGH
from leakguard.model import Run, Snapshot


def evenly_spaced(run: Run) -> Run:
    """Return the run with evenly spaced generations only.

    Generations with a census or a trace are always kept. A run whose generations were recorded one
    by one is returned unchanged.
    """
    ends = [s for s in run.snapshots if s.moment == "generation" and s.generation is not None]
    numbers = [end.generation for end in ends if end.generation is not None]
    if not any(end.taken or end.passed for end in ends) or len(numbers) <= MOMENTS_ENOUGH:
        return run
    left = set(_apart(numbers, _distance(numbers)))
    left |= {s.generation or 0 for s in run.snapshots if s.census is not None or s.was_traced}
    return replace(run, snapshots=tuple(_selected(run.snapshots, left)))


def _distance(numbers: list[int]) -> int:
    """Return the widest distance, up to that at the run's end, that leaves enough generations."""
    widest = max(later - before for before, later in pairwise(numbers[-3:]))
    distances = [widest >> halved for halved in range(widest.bit_length())]
    enough = (d for d in distances if len(_apart(numbers, d)) >= MOMENTS_ENOUGH)
    return next(enough, 1)


def _apart(numbers: list[int], distance: int) -> list[int]:
    """Return as many of the numbers as can lie at least ``distance`` apart, the last one first."""
    apart: list[int] = []
    for number in reversed(numbers):
        if not apart or apart[-1] - number >= distance:
            apart.append(number)
    return apart


def _selected(snapshots: Iterable[Snapshot], left: set[int]) -> Iterator[Snapshot]:
    """Yield the snapshots that stay; generations that do not are passed over like those before."""
    passed = 0
    for snapshot in snapshots:
        counts = snapshot.moment == "generation" and snapshot.taken is None
        passed += snapshot.passed or 0
        if _stays(snapshot, left):
            yield replace(snapshot, passed=passed or None) if counts else snapshot
            passed = 0 if counts else passed
        elif counts:
            passed += 1


def _stays(snapshot: Snapshot, left: set[int]) -> bool:
    return snapshot.generation is None or snapshot.moment == "end" or snapshot.generation in left
