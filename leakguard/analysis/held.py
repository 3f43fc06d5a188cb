"""The looks at who holds what, one a generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from leakguard.analysis.knowledge.places import with_bound
from leakguard.analysis.timeline import Timeline
from leakguard.model import Holder
from leakguard.model.holder import ELEMENT

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
    return [(g, one_a_name(holders)) for g, holders in sorted(found.items())]


def one_a_name(holders: tuple[Holder, ...]) -> tuple[Holder, ...]:
    """Return one holder per path, with bounds that are known.

    Containers of several objects of one class may have one name: they are told as one.
    """
    alike: dict[str, list[Holder]] = {}
    for holder in holders:
        alike.setdefault(holder.path, []).append(holder)
    return tuple(with_bound(_as_one(its)) for its in alike.values())


def _as_one(alike: Sequence[Holder]) -> Holder:
    """Return the first of holders of one name, with what all of those of its element keep.

    One tensor may be told twice: as an object, and as the holder of its graph.
    """
    first = alike[0]
    same = [holder for holder in alike if holder.element == first.element]
    if len(same) == 1 or first.graph_nodes or not first.path.endswith(ELEMENT):
        return first

    def whole(number: Callable[[Holder], int | None]) -> int | None:
        known = [number(holder) for holder in same]
        return None if None in known else sum(filter(None, known))

    return replace(
        first,
        entries=sum(holder.entries for holder in same),
        before=whole(lambda holder: holder.before),
        streak=min(holder.streak for holder in same),
        capacity=whole(lambda holder: holder.capacity),
        bytes=whole(lambda holder: holder.bytes),
        retained_bytes=whole(lambda holder: holder.retained_bytes),
        device_bytes=whole(lambda holder: holder.device_bytes),
        containers=whole(lambda holder: holder.containers),
        born=tuple(place for holder in same for place in holder.born),
    )


def first_seen(looks: list[Look]) -> dict[str, tuple[int, int]]:
    """Return the first look at each container: its generation, and how many entries it had."""
    seen = ((h.path, (generation, h.entries)) for generation, held in reversed(looks) for h in held)
    return dict(seen)
