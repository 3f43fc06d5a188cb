"""Selects evenly spaced generations of a run that grouped more and more rounds into one.

If the program does not define a generation, ``leakguard run`` begins with small ones, because the
run may be short, and doubles their size whenever they have become many. Without a selection, the
first minute would outweigh the rest of an hour: half of the judged generations would be warm-up.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from leakguard.model import Run, Snapshot

# The selected generations lie as far apart as possible, but at least this many remain. Chosen: the
# judge of a series compares quarters of the series, and 48 values give a dozen in each quarter.
_MOMENTS_ENOUGH = 48


def evenly_spaced(run: Run) -> Run:
    """Return the run with evenly spaced generations only.

    Generations with a census or a trace are always kept. A run whose generations were recorded one
    by one is returned unchanged.
    """
    ends = [s for s in run.snapshots if s.moment == "generation" and s.generation is not None]
    numbers = [end.generation for end in ends if end.generation is not None]
    if not any(end.taken for end in ends) or len(numbers) <= _MOMENTS_ENOUGH:
        return run
    distance = _distance(numbers)
    left = {n for n in numbers if (numbers[-1] - n) % distance == 0}
    left |= {s.generation or 0 for s in run.snapshots if s.census is not None or s.was_traced}
    return replace(run, snapshots=tuple(s for s in run.snapshots if _stays(s, left)))


def _distance(numbers: list[int]) -> int:
    """Return the widest distance, up to that at the run's end, that leaves enough generations."""
    last = numbers[-1]
    widest = max(later - before for before, later in pairwise(numbers[-3:]))
    distances = [widest >> halved for halved in range(widest.bit_length())]
    enough = (d for d in distances if sum((last - n) % d == 0 for n in numbers) >= _MOMENTS_ENOUGH)
    return next(enough, 1)


def _stays(snapshot: Snapshot, left: set[int]) -> bool:
    return snapshot.generation is None or snapshot.moment == "end" or snapshot.generation in left
