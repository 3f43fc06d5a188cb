"""Who holds what grows: the containers of the last look, ranked by the signs that speak for them.

The containers that these functions return are not ``proven``: no look saw them growing often
enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.entries import IN_FRONT
from leakguard.analysis.growth import Growth
from leakguard.analysis.knowledge import is_mapping
from leakguard.analysis.sources.containers import GUARDS_OWN, NO_ROOT, growth_of
from leakguard.analysis.tolerance import (
    BEYOND_CHANCE,
    FEWEST_LOOKS,
    MAJORITY,
    OWN_SHARE,
    is_about,
    same,
)
from leakguard.model import Holder
from leakguard.model.holder import ELEMENT


class Sought(NamedTuple):
    """A type whose holder is asked for.

    Attributes:
        case: the run.
        type: the type that grows.
        rate: objects per generation.
        alive: how many there are at the last look.
        is_programs: whether the type is a class of the program.
    """

    case: Case
    type: str
    rate: float
    alive: int
    is_programs: bool


@dataclass(frozen=True, slots=True)
class Sign:
    """What speaks for a container as the holder of a type.

    Attributes:
        name: what was seen.
        strength: the rank among the signs. The container with the strongest sign holds the type;
            strengths are not added up. Of several with the same sign it is the largest.
        seen: whether a container has the sign.
        of_type: whether its entries must be of the type. If they are not, the row may be named
            after the entries instead of the type (``entries.lead_of``).
        shows_gain: whether the sign shows that the container gained what the type gained. Only such
            a sign gives a type beside larger ones a row of its own.
    """

    name: str
    strength: int
    seen: Callable[[Sought, Holder], bool]
    of_type: bool = True
    shows_gain: bool = False

    def speaks_for(self, sought: Sought, holder: Holder) -> bool:
        """Return whether a container has the sign."""
        is_of_type = not self.of_type or holder.element == sought.type
        return is_of_type and self.seen(sought, holder)


def holder_of(case: Case, type_name: str, rate: float, *, must_gain: bool = False) -> Growth | None:
    """Return the holder of a type that grows by ``rate`` per generation; None if unknown.

    ``must_gain`` asks for signs that the container gained what the type gained.
    """
    if not case.held:
        return None
    generation, holders = case.held[-1]
    alive = _alive(case, type_name, generation)
    sought = Sought(case, type_name, rate, alive, is_users(type_name))
    signs = sorted(
        (s for s in SIGNS if s.shows_gain or not must_gain), key=lambda sign: -sign.strength
    )
    unbounded = list(filter(_is_unbounded, holders))
    found = (h for sign in signs for h in unbounded if sign.speaks_for(sought, h))
    best = next(found, None)
    return None if best is None else _unproven(case, _around(case, best, holders))


def holder_of_larger(case: Case, type_name: str, size: float) -> Holder | None:
    """Return the innermost holder of objects of a type that became larger by about ``size`` bytes.

    What they have at the last look must be that size, and the first look may have seen half of it.
    """
    looks = case.held
    earlier = {h.path: h.bytes or 0 for _, holders in reversed(looks[:-1]) for h in holders}
    found = [
        holder
        for holder in (looks[-1][1] if looks else ())
        if holder.element == type_name
        and is_about(holder.bytes or 0, size)
        and earlier.get(holder.path, 0) <= MAJORITY * (holder.bytes or 0)
        and not holder.path.startswith((NO_ROOT, GUARDS_OWN))
    ]
    return max(found, key=lambda holder: (holder.path.count(ELEMENT), holder.path), default=None)


def holder_of_more(case: Case, inner: Holder) -> Holder:
    """Return the outermost container around ``inner`` that gained entries; else ``inner``.

    Objects that become more come with the entries of that container, which are what a fix removes.
    """
    looks = case.held
    return _around(case, inner, looks[-1][1]) if looks else inner


def holder_of_graph(case: Case, nodes: Growth) -> Growth | None:
    """Return the holder, in the last look, of most nodes of a growing backward graph.

    Most nodes of the graph must have appeared between looks.
    """
    looks = case.held
    if not looks or nodes.judged is None:
        return None
    alive, before = nodes.judged.series.values[-1], nodes.judged.series.values[0]
    graphs = [h for h in looks[-1][1] if (h.graph_nodes or 0) >= MAJORITY * alive]
    if not graphs or alive - before < MAJORITY * alive:
        return None
    return _unproven(case, largest_graph(graphs))


def holder_of_device(case: Case, growth: Growth) -> Growth | None:
    """Return the holder, in the last look, of most of what a GPU gained since ``growth`` began.

    Births must show that the loop made it.
    """
    most = _holder_of_gain(case, growth, lambda holder: holder.device_bytes or 0, on_device=True)
    return None if most is None else _unproven(case, most)


def holder_of_rest(case: Case, growth: Growth, told: Collection[str]) -> Holder | None:
    """Return the holder, in the last look, of about what memory gained beside what is told.

    Births must show that the loop made it. ``told`` are the paths of other holders, in which it
    does not lie, nor they in it.
    """

    def kept(holder: Holder) -> int:
        path = holder.path
        known = any(path.startswith(other) or other.startswith(path) for other in told)
        return 0 if known else holder.retained_bytes or 0

    return _holder_of_gain(case, growth, kept)


def mapping_behind(holder: Holder) -> str | None:
    """Return the type of the mappings that a holder's entries are, or keep; None if there are none.

    A view of a mapping keeps it.
    """
    types = (holder.element, *(hop.type for hop in holder.onward))
    return next(filter(is_mapping, types), None)


def _holder_of_gain(
    case: Case, growth: Growth, kept: Callable[[Holder], int], *, on_device: bool = False
) -> Holder | None:
    """Return the holder that keeps most, if it is about as much as ``growth`` has gained."""
    looks = case.held
    if not looks or growth.since is None:
        return None
    generation, holders = looks[-1]
    lasted = case.run.generations_until(generation) - case.run.generations_until(growth.since)
    gained = (growth.rate or 0.0) * lasted
    found = [
        holder
        for holder in holders
        if is_about(kept(holder), gained)
        and _is_unbounded(holder)
        and _is_of_loop(holder, on_device=on_device)
    ]
    return max(found, key=kept, default=None)


def holder_of_mappings(case: Case) -> Growth | None:
    """Return the holder, in the last look, of most objects that map memory; None if there is none.

    What an object maps is no part of its size, so only their number tells.
    """
    holders = case.held[-1][1] if case.held else ()
    found = [h for h in holders if mapping_behind(h) is not None and _is_unbounded(h)]
    most = max(found, key=lambda holder: holder.entries, default=None)
    return None if most is None else _unproven(case, most)


def _is_of_loop(holder: Holder, *, on_device: bool) -> bool:
    """Return whether the loop made most of what births know of a holder's memory."""
    cohorts = [c for place in holder.born if place.device == on_device for c in place.cohorts]
    made = sum(cohort.bytes for cohort in cohorts if cohort.round >= 0)
    return made > 0 and made >= MAJORITY * sum(cohort.bytes for cohort in cohorts)


def largest_graph(graphs: Iterable[Holder]) -> Holder:
    """Return the holder of most nodes of backward graphs.

    If several holders retain the same nodes, return the holder that contains the tensors.
    """
    return max(graphs, key=lambda g: (g.graph_nodes or 0, "graphs" in g.traits, g.path))


def _gained_most(sought: Sought, holder: Holder) -> bool:
    """It gained most of what the type gained between the same looks."""
    first, entries = sought.case.first_held[holder.path]
    gained = holder.entries - entries
    rise = 0 if gained <= 0 else sought.alive - _alive(sought.case, sought.type, first)
    return gained >= MAJORITY * rise > 0


def _has_all(sought: Sought, holder: Holder) -> bool:
    """One look alone saw it, with all that the type gained in a loop of many generations.

    After a few generations, a container may have so many entries by chance.
    """
    last = sought.case.held[-1][0]
    many = sought.case.run.generations_until(last)
    is_new = sought.case.first_held[holder.path][0] == last and many >= BEYOND_CHANCE
    return is_new and same(holder.entries, sought.rate * many, OWN_SHARE)


def _has_one_each(sought: Sought, holder: Holder) -> bool:
    """It has as many records or callbacks as there are objects of a class.

    Each of its entries keeps one of them: a hook is a method of the object that it belongs to. A
    few may be as many by chance.
    """
    is_many = sought.is_programs and sought.alive >= BEYOND_CHANCE
    one_each = is_many and holder.entries == sought.alive and holder.element in IN_FRONT
    return one_each and not _is_still(sought.case, holder)


def _has_most(sought: Sought, holder: Holder) -> bool:
    """It has most instances of the type, and was not seen without a gain."""
    has_most = holder.entries >= MAJORITY * sought.alive > 0
    return has_most and not _is_still(sought.case, holder)


#: What speaks for a holder. A further sign is a function and one more line; ``test_signs`` asks
#: each sign by itself.
SIGNS = (
    Sign("gained most", 40, _gained_most, shows_gain=True),
    Sign("has all", 30, _has_all, shows_gain=True),
    Sign("has one each", 20, _has_one_each, of_type=False, shows_gain=True),
    Sign("has most", 10, _has_most),
)


def _alive(case: Case, type_name: str, generation: int) -> int:
    """Return the most instances of a type that were counted in a generation."""
    ends = [s for s in case.run.snapshots if s.generation == generation]
    ends += [case.timeline.ends[generation]] if generation in case.timeline.ends else []
    return max((s.count(type_name) or 0 for s in ends), default=0)


def _is_still(case: Case, holder: Holder) -> bool:
    """Return whether several looks saw a container, and it gained nothing between them."""
    first, entries = case.first_held[holder.path]
    return first < case.held[-1][0] and holder.entries <= entries


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


def _unproven(case: Case, holder: Holder) -> Growth:
    seen = [(g, h) for g, holders in case.held for h in holders if h.path == holder.path]
    container = growth_of(case, seen, proven=False)
    if len(seen) > 1:
        return container
    since, before = _counted_before(case, holder)
    return replace(container, rate=(holder.entries - before) / max(seen[0][0] - since, 1))
