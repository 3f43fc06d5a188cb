"""Finds the holder of growing objects in the last look, if no container was seen growing.

The containers that these functions return are not ``proven``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.entries import IN_FRONT
from leakguard.analysis.growth import Growth
from leakguard.analysis.sources.containers import (
    GUARDS_OWN,
    NO_ROOT,
    Look,
    growth_of,
    looks_at_holders,
)
from leakguard.analysis.tolerance import BEYOND_CHANCE, FEWEST_LOOKS, MAJORITY, SAME_RATE, same
from leakguard.model import Holder
from leakguard.model.holder import ELEMENT


def holder_of(case: Case, type_name: str, rate: float) -> Growth | None:
    """Return the holder of a type that grows by ``rate`` per generation; None if unknown.

    The holder is the container that gained as many, or else the one that has most instances.
    """
    looks = looks_at_holders(case)
    crowded = _crowded(case, type_name, looks) if looks else None
    return holder_that_gained(case, type_name, rate) or crowded


def holder_that_gained(case: Case, type_name: str, rate: float) -> Growth | None:
    """Return the container that gained what a type gained between looks; None if none did."""
    looks = looks_at_holders(case)
    if not looks:
        return None
    return (
        _gained_most(case, type_name, looks)
        or _with_all(case, type_name, rate, looks)
        or _one_each(case, type_name, looks)
    )


def holder_of_larger(case: Case, type_name: str, size: float) -> Holder | None:
    """Return the innermost holder of objects of a type that became larger by about ``size`` bytes.

    What they have at the last look must be that size, and the first look may have seen half of it.
    """
    looks = looks_at_holders(case)
    earlier = {h.path: h.bytes or 0 for _, holders in reversed(looks[:-1]) for h in holders}
    found = [
        holder
        for holder in (looks[-1][1] if looks else ())
        if holder.element == type_name
        and MAJORITY * size <= (holder.bytes or 0) <= size / MAJORITY
        and earlier.get(holder.path, 0) <= MAJORITY * (holder.bytes or 0)
        and not holder.path.startswith((NO_ROOT, GUARDS_OWN))
    ]
    return max(found, key=lambda holder: (holder.path.count(ELEMENT), holder.path), default=None)


def holder_of_more(case: Case, inner: Holder) -> Holder:
    """Return the outermost container around ``inner`` that gained entries; else ``inner``.

    Objects that become more come with the entries of that container, which are what a fix removes.
    """
    looks = looks_at_holders(case)
    return _around(case, inner, looks[-1][1]) if looks else inner


def holder_of_graph(case: Case, nodes: Growth) -> Growth | None:
    """Return the holder, in the last look, of most nodes of a growing backward graph.

    Most nodes of the graph must have appeared between looks.
    """
    looks = looks_at_holders(case)
    if not looks or nodes.judged is None:
        return None
    alive, before = nodes.judged.series.values[-1], nodes.judged.series.values[0]
    graphs = [h for h in looks[-1][1] if (h.graph_nodes or 0) >= MAJORITY * alive]
    if not graphs or alive - before < MAJORITY * alive:
        return None
    return _unproven(case, largest_graph(graphs), looks)


def holder_of_device(case: Case, growth: Growth) -> Growth | None:
    """Return the holder, in the last look, of most of what a GPU gained since ``growth`` began.

    Births must show that the loop made it.
    """
    looks = looks_at_holders(case)
    if not looks or growth.since is None:
        return None
    generation, holders = looks[-1]
    lasted = case.run.generations_until(generation) - case.run.generations_until(growth.since)
    gained = (growth.rate or 0.0) * lasted
    found = [
        holder
        for holder in holders
        if MAJORITY * gained <= (holder.device_bytes or 0) <= gained / MAJORITY
        and _is_unbounded(holder)
        and _is_of_loop(holder)
    ]
    most = max(found, key=lambda holder: holder.device_bytes or 0, default=None)
    return None if most is None else _unproven(case, most, looks)


def _is_of_loop(holder: Holder) -> bool:
    """Return whether the loop made most of what births know of a holder's memory on devices."""
    cohorts = [c for place in holder.born if place.device for c in place.cohorts]
    made = sum(cohort.bytes for cohort in cohorts if cohort.round >= 0)
    return made > 0 and made >= MAJORITY * sum(cohort.bytes for cohort in cohorts)


def largest_graph(graphs: Iterable[Holder]) -> Holder:
    """Return the holder of most nodes of backward graphs.

    If several holders retain the same nodes, return the holder that contains the tensors.
    """
    return max(graphs, key=lambda g: (g.graph_nodes or 0, "graphs" in g.traits, g.path))


def _gained_most(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    """Return the container that gained most of what a type gained between the same looks."""
    generation, holders = looks[-1]
    alive = _alive(case, type_name, generation)
    for holder in _unbounded(type_name, looks):
        first, entries = _first_seen(holder, looks)
        if holder.entries - entries >= MAJORITY * (alive - _alive(case, type_name, first)) > 0:
            return _unproven(case, _around(case, holder, holders), looks)
    return None


def _with_all(case: Case, type_name: str, rate: float, looks: list[Look]) -> Growth | None:
    """Return a container that one look saw, with all that a type has gained in the loop.

    After a few generations, a container may have so many entries by chance.
    """
    generation, holders = looks[-1]
    many = case.run.generations_until(generation)
    for holder in _unbounded(type_name, looks):
        is_new = _first_seen(holder, looks)[0] == generation
        if is_new and many >= BEYOND_CHANCE and same(holder.entries, rate * many, SAME_RATE):
            return _unproven(case, _around(case, holder, holders), looks)
    return None


def _one_each(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    """Return a container of as many records or callbacks as there are objects of a class.

    Each of its entries keeps one of them: a hook is a method of the object that it belongs to. A
    few may be as many by chance.
    """
    generation, holders = looks[-1]
    alive = _alive(case, type_name, generation)
    if alive < BEYOND_CHANCE or not is_users(type_name):
        return None
    for holder in holders:
        as_many = holder.entries == alive and holder.element in IN_FRONT
        if as_many and _is_unbounded(holder) and not _is_still(holder, looks):
            return _unproven(case, holder, looks)
    return None


def _crowded(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    generation, holders = looks[-1]
    alive = _alive(case, type_name, generation)
    for holder in _unbounded(type_name, looks):
        if holder.entries >= MAJORITY * alive > 0 and not _is_still(holder, looks):
            return _unproven(case, _around(case, holder, holders), looks)
    return None


def _alive(case: Case, type_name: str, generation: int) -> int:
    """Return the most instances of a type that were counted in a generation."""
    ends = [s for s in case.run.snapshots if s.generation == generation]
    ends += [case.timeline.ends[generation]] if generation in case.timeline.ends else []
    return max((s.count(type_name) or 0 for s in ends), default=0)


def _first_seen(holder: Holder, looks: list[Look]) -> tuple[int, int]:
    """Return the generation of the first look at a container, and how many entries it had."""
    return next((g, h.entries) for g, holders in looks for h in holders if h.path == holder.path)


def _is_still(holder: Holder, looks: list[Look]) -> bool:
    """Return whether several looks saw a container, and it gained nothing between them."""
    first, entries = _first_seen(holder, looks)
    return first < looks[-1][0] and holder.entries <= entries


def _unbounded(type_name: str, looks: list[Look]) -> Iterator[Holder]:
    """Yield a type's containers in the last look that have a root and no bound."""
    for holder in looks[-1][1]:
        if holder.element == type_name and _is_unbounded(holder):
            yield holder


def _is_unbounded(holder: Holder) -> bool:
    return holder.capacity is None and not holder.path.startswith((NO_ROOT, GUARDS_OWN))


def _around(case: Case, holder: Holder, holders: tuple[Holder, ...]) -> Holder:
    """Return the outermost container around ``holder`` that gained entries; else ``holder``."""
    outer = (
        other
        for other in sorted(holders, key=lambda other: len(other.path))
        if other.capacity is None
        and holder.path.startswith(other.path)
        and (other.streak >= FEWEST_LOOKS - 1 or _is_mostly_new(case, other))
    )
    return next(outer, holder)


def _is_mostly_new(case: Case, holder: Holder) -> bool:
    """Return whether most entries of a container came since the look before."""
    before = _counted_before(case, holder)[1] if holder.before is None else holder.before
    return holder.entries - before >= MAJORITY * holder.entries > 0


def _counted_before(case: Case, holder: Holder) -> tuple[int, int]:
    """Return when objects were first counted, and how many entries a container had then at most.

    It had no more than there were objects of their type.
    """
    counted = case.timeline.counted_since(None)
    if not counted:
        return 0, holder.entries
    generation, census = counted[0]
    return generation, min(census.count(holder.element) or 0, holder.entries)


def _unproven(case: Case, holder: Holder, looks: list[Look]) -> Growth:
    seen = [(g, h) for g, holders in looks for h in holders if h.path == holder.path]
    container = growth_of(case, seen, proven=False)
    if len(seen) > 1:
        return container
    since, before = _counted_before(case, holder)
    return replace(container, rate=(holder.entries - before) / max(seen[0][0] - since, 1))
