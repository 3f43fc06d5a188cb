"""Which containers hold a group of growing types, and which part of the growth each of them has."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.facts.measured import CountShare
from leakguard.analysis.group import is_programs, known_bytes, names_of
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.place_in_loop import loose_start
from leakguard.analysis.sources.containers import GUARDS_OWN
from leakguard.analysis.tolerance import (
    BYTES_FLOOR,
    FEWEST_LOOKS,
    MAJORITY,
    NEARLY_ALL,
    NOTABLE_ENTRIES,
    OWN_SHARE,
    SAME_COUNT,
    SAME_RATE,
    same,
)

# Entry types whose contents are more informative than the entries themselves.
_RECORDS = frozenset({"tuple", "list", "dict"})
#: Entry types that are less informative than the objects that they refer to.
IN_FRONT = _RECORDS | {"function", "method", "builtin_function_or_method", "functools.partial"}
# Types of objects that keep no other object alive.
_LEAVES = frozenset({"int", "float", "complex", "bool", "str", "bytes"})


def holding(group: list[Growth], containers: list[Growth]) -> list[Growth]:
    """Return the unbounded containers whose elements, or graphs, belong to the group."""
    names = names_of(group)
    strong = any(map(is_programs, group))
    own = [
        container
        for container in containers
        if (container.type in names or (container.keeps_graphs and "torch.Tensor" in names))
        # A registry of weak references keeps no object alive: it grows because the objects become
        # more. So it is no holder if it lies in the standard library, or if the program's own
        # classes grow. If only builtin types grow, they may be the registry's own entries.
        and not (container.is_weak and (strong or _is_standard(container.name)))
    ]
    return [c for c in own if not c.fills and not _is_bystander(c, group)]


def keeps_nothing(type_name: str) -> bool:
    """Return whether objects of a type are numbers or texts, which keep no other object alive."""
    return type_name in _LEAVES


def not_in(containers: list[Growth], group: list[Growth]) -> list[Growth]:
    """Return the types of a group that do not lie in its containers, of numbers or texts.

    Numbers and texts keep no other object. What is a key may have a value, which is then retained.
    """
    entries = {container.type for container in containers}
    apart = [growing for growing in group if growing.name not in entries]
    kept = sum(container.bytes_rate or 0.0 for container in containers)
    holds_more = not entries <= _LEAVES or kept >= MAJORITY * known_bytes(apart)
    return [] if holds_more or len(apart) == len(group) else apart


def _is_bystander(container: Growth, group: list[Growth]) -> bool:
    """Return whether a container gains a trifle of the objects of its type, and of their bytes."""
    grown = next((g for g in group if g.name == container.type), None)
    if grown is None or container.keeps_graphs or not container.proven:
        return False
    known = known_bytes(group)
    is_light = not known or (container.bytes_rate or 0.0) < OWN_SHARE * known
    return is_light and (container.rate or 0.0) < OWN_SHARE * (grown.rate or 0.0)


def _is_standard(path: str) -> bool:
    """True for a place in the standard library."""
    return path.partition(".")[0] in sys.stdlib_module_names


def retaining_most(group: list[Growth], containers: list[Growth]) -> list[Growth]:
    """Return the container that keeps the group alive although its entries are of other types.

    The container must retain about as many bytes as the group gains; a larger container holds
    something else.
    """
    known = known_bytes(group)
    least, most = MAJORITY * known, known / MAJORITY
    return [c for c in containers if not c.fills and least < (c.bytes_rate or 0.0) <= most][:1]


def lead_of_entries(types: Sequence[Growth], container: Growth) -> Growth | None:
    """Return the type to name for a container's entries; None if no count of it grows.

    Entries that are tuples, lists or dicts say little. A class of the program with one instance in
    each of them says more, and so does the builtin type that has most of their bytes.
    """
    own = next((g for g in types if g.name == container.type), None)
    if container.type not in _RECORDS:
        return own
    one_each = (g for g in types if is_programs(g) and as_many(g, container))
    size = container.kept_rate
    builtin = (g for g in types if not is_programs(g))
    heavy = [g for g in builtin if MAJORITY * size <= (g.bytes_rate or 0.0) <= size / MAJORITY]
    most = max(heavy, key=lambda growing: growing.bytes_rate or 0.0, default=own)
    return next(one_each, most)


def explains(container: Growth, growing: Growth) -> bool:
    """True if a filling container gains nearly all new objects of a type, or gains as many."""
    gained = container.rate or 0.0
    if container.type == growing.name:
        return (growing.rate or 0.0) <= gained / NEARLY_ALL
    return growing.watched is None and as_many(growing, container)


def as_many(growing: Growth, container: Growth) -> bool:
    """Return True if a type gains as many objects per generation as a container gains entries."""
    return same(growing.rate or 0.0, container.rate or 0.0, SAME_COUNT)


def lead_of(group: list[Growth], container: Growth) -> Growth:
    """Return the type to name: the type of the entries, or else the program's own class.

    If each entry is a tuple or dict with one instance of a class, this class is more informative. A
    type that gains a different number of objects than the container gains entries is not assumed
    to lie in it. If only builtin types were seen growing inside of entries of a class, it is the
    container that shows how many of the class there are.
    """
    entry = next((g for g in group if g.name == container.type), None)
    if entry is None and not is_programs(group[0]) and is_users(container.type or ""):
        return container
    if is_programs(group[0]) and (entry is None or entry.name in IN_FRONT):
        return group[0]
    lead = entry or group[0]
    inside = (g for g in group if "." in g.name and as_many(g, container))
    return next(inside, lead) if lead.name in _RECORDS else lead


def is_apart(container: Growth, group: list[Growth], all_: list[Growth]) -> bool:
    """True if the containers of a type together gain no more than the type, so share no objects."""
    grown = next(g for g in group if g.name == container.type)
    together = sum(c.rate or 0.0 for c in all_ if c.type == container.type)
    return container.proven and together <= (1 + SAME_RATE) * (grown.rate or 0.0)


def part_of(case: Case, growing: Growth, container: Growth, *, others_gain: bool = False) -> Growth:
    """Return the part of a type's growth that goes into one of several containers.

    A container that one look saw has no rate of its own, unless births tell it and ``others_gain``
    objects of the type, too: the count of the type is exact, but theirs as well.
    """
    judged, rate = container.judged, container.rate or 0.0
    if judged is None or (container.proven and as_many(growing, container)):
        return growing
    said = Evidence("count", CountShare(rate))
    part = replace(
        growing, rate=rate, bytes_rate=container.bytes_rate, interval=None, evidence=(said,)
    )
    if len(judged.series) < 2:
        return part if container.is_born and others_gain else growing
    return replace(
        part,
        since=loose_start(case, container),
        counts=tuple(map(int, judged.series.values)),
        judged=judged,
    )


# -- containers without a type ---------------------------------------------------------------------


def is_notable(container: Growth) -> bool:
    """Return True for a container whose growth is reported although no count of a type shows it."""
    if container.is_weak or container.fills or GUARDS_OWN in container.name.partition("[*]")[0]:
        return False
    kept = container.kept_rate
    if container.is_buffer or container.keeps_graphs:
        return kept >= BYTES_FLOOR
    judged = container.judged
    seen = judged is not None and judged.grows and len(judged.series) > FEWEST_LOOKS
    return (seen or container.is_born) and kept >= NOTABLE_ENTRIES


def kept_by(container: Growth | None, lead: Growth) -> float:
    """Return the bytes per generation that a container retains, measured across looks if possible.

    For a container seen in only one look, assume that all entries retain the same and that entries
    were added evenly since their contents began to grow.
    """
    if container is None or container.judged is None or container.holder is None:
        return 0.0 if container is None else container.bytes_rate or 0.0
    holder, looks = container.holder, container.judged.series
    if len(looks) > 1 or not holder.entries:
        return container.bytes_rate or 0.0
    rounds = max(looks.generations[-1] - (lead.since or 0) + 1, 1)
    came = min(lead.rate or 0.0, holder.entries / rounds)
    return (holder.retained_bytes or 0) / holder.entries * came


def process_bytes(case: Case, lead: Growth, phase: str | None) -> float | None:
    """Return the growth of the process's memory in a phase, for objects without known sizes."""
    shares = (
        case.contribution(metric, lead.since).by_phase.get(phase, 0.0)
        for metric in ("heap_in_use", "rss")
    )
    return next((share for share in shares if share > 0), None)
