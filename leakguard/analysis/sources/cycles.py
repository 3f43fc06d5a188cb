"""Garbage in reference cycles: a cost if the collector frees it, a leak if it never does.

The guard runs the collector now and then, after much unreachable memory has accumulated. Everything
that such a collection frees was garbage. The counts between the guard's collections show whether
the program's own collections would have freed the garbage. Where the guard must not collect, a walk
shows what no root leads to.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from leakguard.analysis.case import Case, slope
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.contribution import made_in
from leakguard.analysis.facts.fix import BreakCycle
from leakguard.analysis.facts.harmless import CycleCost
from leakguard.analysis.facts.measured import FreedInCycles, LeftInCycles
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.tolerance import (
    FEWEST_LOOKS,
    MAJORITY,
    MATERIAL_BYTES,
    OWN_SHARE,
    REPEATED,
    SEEN_AGAIN,
    SEEN_ONCE,
)
from leakguard.model import Collection, Snapshot
from leakguard.model.holder import Hop
from leakguard.model.series import Series

_PILES_UP = Evidence("count", "piled up")


def cycles(case: Case) -> list[Growth]:
    """Return growth for the main class of what collections freed, if they freed much.

    Garbage that the program's own collector frees in time is returned as a healthy cost.
    """
    least = 0 if switched_off(case) else MATERIAL_BYTES
    collected = [s for s in case.run.snapshots if s.collection]
    leads = [_lead(snapshot, least) for snapshot in collected]
    known = [lead for lead in leads if lead is not None]
    if not known:
        return []
    name = max(known, key=known.count)
    freeing = [s for s, lead in zip(collected, leads, strict=True) if lead == name]
    watched = any(name in s.watched and s.watched[name].too_many for s in case.run.snapshots)
    found = _growth(case, name, freeing)
    # Frameworks leave cycles of dicts and closures, which the collector frees: no leak.
    healthy = not is_users(name) or _is_taken(case, name, freeing)
    # Some garbage there is at any moment.
    at_once = len(found.evidence) == 1 and not switched_off(case)
    if not watched and (healthy or at_once):
        return [_cost(case, collected, found)]
    return [found]


def switched_off(case: Case) -> bool:
    """Return True when the program had automatic collection off at the last generations' ends."""
    return _off_since(case) is not None


def _off_since(case: Case) -> int | None:
    """Return the first generation of the last ones at whose ends the collector was off."""
    series = case.timeline.metric("gc_enabled")
    ends = takewhile(lambda end: not end[1], reversed(_points(series)))
    off = [generation for generation, _ in ends]
    return off[-1] if len(off) >= min(FEWEST_LOOKS, len(series)) > 0 else None


def _lead(snapshot: Snapshot, least: float = 0) -> str | None:
    """Return the class that a collection freed most of; watched and program classes come first.

    None if the collection freed less than ``least`` bytes, because every program leaves a little
    garbage for its own collector.
    """
    collection = snapshot.collection
    if collection is None or (collection.bytes or 0) < least or not collection.types:
        return None
    watched = [name for name in collection.types if name in snapshot.watched]
    own = [name for name in collection.types if is_users(name)]
    return next(iter((*watched, *own, *collection.types)))


def _is_taken(case: Case, name: str, freeing: list[Snapshot]) -> bool:
    """True if the program's own collector frees the garbage repeatedly.

    Looks may be too far apart to show the count fall. In that case live memory decides, which is
    read in every generation: it does not grow if garbage is freed.
    """
    drops = _own_drops(case, name, freeing)
    if drops >= REPEATED or _own_full_collections(case) < REPEATED:
        return drops >= REPEATED
    memory = case.memory()
    return drops > 0 or (memory is not None and memory.verdict.growing == "no")


def _own_drops(case: Case, name: str, freeing: list[Snapshot]) -> int:
    """Return how often the count fell without a collection by the guard.

    Looks may be too far apart to show a fall. If less than a tenth is left of what was made between
    two looks, that counts as ``REPEATED`` falls: one collection, by chance, leaves more.
    """
    ours = {snapshot.generation for snapshot in freeing}
    series = case.timeline.best_series(name, count_reader(name))
    each = _rate(_until(series, freeing[0])) or 0.0
    drops = 0
    points = _points(series, _off_since(case) or 0)
    for (at, earlier), (then, later) in pairwise(points):
        if later < OWN_SHARE * each * (then - at):
            drops += REPEATED
        else:
            drops += later < earlier and at not in ours
    return drops


def _own_full_collections(case: Case) -> int:
    """Return how many full collections of the run were not made by the guard."""
    series = case.timeline.metric("gc_full_collections")
    values = [value for _, value in _points(series, _off_since(case) or 0)]
    ours = sum(s.collection is not None and not s.collection.left for s in case.run.snapshots)
    return int(values[-1] - values[0]) - ours if values else 0


def _cost(case: Case, collected: list[Snapshot], found: Growth) -> Growth:
    """Return garbage that the collector frees as a healthy cost, with its size and its peak."""
    collections = [s.collection for s in collected if s.collection is not None]
    sizes = [collection.bytes or 0 for collection in collections]
    counts = case.timeline.best_series(found.name, count_reader(found.name)).values
    often = _own_full_collections(case)
    cost = CycleCost(
        found.name,
        freed=sum(sizes),
        at_once=max(sizes),
        most=max(counts) if counts and max(counts) > min(counts) else None,
        collections=often if often >= REPEATED else None,
    )
    return Growth(
        "cycles",
        "garbage in cycles",
        "cycles",
        pattern="sawtooth",
        bytes_rate=_waiting(case, collected, found, sum(sizes)),
        with_it=_mostly_freed(case, collections),
        healthy=cost,
    )


def _waiting(case: Case, collected: list[Snapshot], found: Growth, freed: int) -> float | None:
    """Return the bytes per generation that pile up until the collector comes; None if they do not.

    By counts, they are no more than what collections freed: objects of the class may be held, too.
    """
    if switched_off(case):
        return None
    if born := case.births.waiting(collected[-1]):
        return born
    if _PILES_UP not in found.evidence or found.bytes_rate is None:
        return None
    lasted = case.run.generations[-1] - (found.since or 0)
    return min(found.bytes_rate, freed / max(lasted, 1))


def _freed_with(case: Case, name: str, collections: Sequence[Collection]) -> frozenset[str]:
    """Return the types of which collections freed a tenth as many as of a class, or the most."""
    freed = _freed(collections)
    also = {type_ for type_, count in freed.items() if count >= OWN_SHARE * freed[name]}
    return _mostly_freed(case, collections) | also


def _mostly_freed(case: Case, collections: Sequence[Collection]) -> frozenset[str]:
    """Return the types of which collections freed most of what they gained."""

    def gained(type_: str) -> float:
        values = case.timeline.best_series(type_, count_reader(type_)).values
        return max(values) - min(values) if values else math.inf

    freed = _freed(collections)
    return frozenset(type_ for type_ in freed if freed[type_] >= MAJORITY * gained(type_))


def _freed(collections: Sequence[Collection]) -> Counter[str]:
    freed: Counter[str] = Counter()
    for collection in collections:
        freed.update(collection.types)
    return freed


def _growth(case: Case, name: str, freeing: list[Snapshot]) -> Growth:
    collections = [s.collection for s in freeing if s.collection is not None]
    freed = sum(collection.types.get(name, 0) for collection in collections)
    size = sum(collection.bytes or 0 for collection in collections)
    whole = case.timeline.best_series(name, count_reader(name))
    before, off = _until(whole, freeing[0]), _off_since(case) or 0
    started = _started_at(whole)
    if _own_drops(case, name, freeing):
        phase, rate = made_in(case.run, name, count_reader(name))
    else:
        phase, rate = case.type_share(name).main_phase(), _rate(before, off)
    # Nothing but the collector frees them: where it is off, two counts show that they pile up.
    late = _points(before, off)
    piles_up = off > 0 and len(late) > 1 and late[-1][1] > late[0][1]
    piled_up = piles_up or case.judge(before, integer=True).grows
    found = Evidence("collector", FreedInCycles(name, freed, size, len(freeing)))
    if all(collection.left for collection in collections):
        freed, size = collections[-1].types.get(name, 0), collections[-1].bytes or 0
        found = Evidence("retained", LeftInCycles(name, freed, size))
    again = _again(piled_up, len(freeing))
    way = _way(collections, name)
    return Growth(
        "cycles",
        name,
        "cycles",
        type=name,
        pattern="sawtooth",
        rate=rate,
        bytes_rate=None if rate is None or not freed else size / freed * rate,
        # Looks may be far apart: what came since the collector is off may have come at once.
        since=started if started is None or not off else min(started, off),
        counts=tuple(map(int, before.values)),
        phase=phase,
        path=way,
        with_it=_freed_with(case, name, collections),
        # A collection counts freed objects exactly, but a single collection does not prove growth.
        exact=len(freeing) > 1,
        evidence=(found, *again),
        confidence=SEEN_AGAIN if again else SEEN_ONCE,
        fix=BreakCycle(way, is_collector_off=switched_off(case)),
        ruled_out=("no holder",),
        shown=case.timeline.at(phase).get(freeing[0].generation or 0, freeing[0]),
    )


def _again(piled_up: bool, times: int) -> tuple[Evidence, ...]:
    """Return evidence that objects became garbage more than once: the count or the collector."""
    if piled_up:
        return (_PILES_UP,)
    return (Evidence("collector", None),) if times > 1 else ()


def _way(collections: Sequence[Collection], name: str) -> tuple[Hop, ...]:
    """Return the path from an instance back to itself; empty if no look recorded one."""
    return next((way for c in collections if (way := c.cycles.get(name))), ())


def _rate(before: Series, off: int = 0) -> float | None:
    """Return the objects per generation, since generation ``off`` if two looks saw them then."""
    points, late = _points(before), _points(before, off)
    at, values = zip(*(late if len(late) > 1 else points), strict=True) if points else ((), ())
    return slope(at, values) if len(set(at)) > 1 else None


def _points(series: Series, first: int = 0) -> list[tuple[int, float]]:
    """Return the generations and the values of a series from generation ``first`` on."""
    points = zip(series.generations, series.values, strict=True)
    return [point for point in points if point[0] >= first]


def _started_at(whole: Series) -> int | None:
    """Return the first generation at whose end there are more objects than before."""
    previous = whole.baseline or 0.0
    for generation, value in zip(whole.generations, whole.values, strict=True):
        if value > previous:
            return generation
        previous = value
    return None


def _until(whole: Series, collected: Snapshot) -> Series:
    """Return the counts from their last fall up to the collection.

    The count of the collection's generation is included, because it precedes the collection.
    """
    last = math.inf if collected.generation is None else collected.generation
    kept: list[tuple[int, float]] = []
    for generation, value in zip(whole.generations, whole.values, strict=True):
        if generation > last:
            break
        if kept and value < kept[-1][1]:
            kept.clear()
        kept.append((generation, value))
    return replace(
        whole, generations=tuple(g for g, _ in kept), values=tuple(value for _, value in kept)
    )
