"""The looks at who holds what, one a generation."""

from __future__ import annotations

from typing import TypeAlias

from leakguard.analysis.knowledge.places import with_bound
from leakguard.analysis.timeline import Timeline
from leakguard.model import Holder

#: A generation, and the containers that the look at its end found, largest first.
Look: TypeAlias = "tuple[int, tuple[Holder, ...]]"


def looks_at_holders(timeline: Timeline) -> list[Look]:
    """Return the looks at ends of generations, and requested looks between generations.

    If the loop ended in a generation, that generation's look is the one that was taken while the
    loop's function still had its locals.
    """
    over = (s for s in timeline.run.snapshots if s.ends_loop and s.holders)
    found = {s.generation: s.holders or () for s in over if s.generation is not None}

    def add(generation: int | None, holders: tuple[Holder, ...]) -> None:
        # What ends the loop within a generation also stands for the end of the one before.
        if holders and generation is not None and not any(holders is h for h in found.values()):
            found.setdefault(generation, holders)

    for generation, end in timeline.ends.items():
        add(generation, end.holders)
    ended: int | None = None
    for snapshot in timeline.run.snapshots:
        ended = snapshot.generation if snapshot.moment == "generation" else ended
        if snapshot.moment == "generation" or snapshot.generation is None:
            add(ended, snapshot.holders)
    return [(g, _one_a_path(holders)) for g, holders in sorted(found.items())]


def _one_a_path(holders: tuple[Holder, ...]) -> tuple[Holder, ...]:
    """Return one holder per path, the first, which is the largest; with bounds that are known."""
    first = {holder.path: holder for holder in reversed(holders)}
    return tuple(map(with_bound, reversed(first.values())))


def first_seen(looks: list[Look]) -> dict[str, tuple[int, int]]:
    """Return the first look at each container: its generation, and how many entries it had."""
    seen = ((h.path, (generation, h.entries)) for generation, held in reversed(looks) for h in held)
    return dict(seen)
