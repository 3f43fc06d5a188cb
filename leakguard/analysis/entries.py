"""What entries of a container say of the types that grow: what to name, how much is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.facts.measured import CountShare
from leakguard.analysis.group import is_programs, known_bytes
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge import keeps_self
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
    is_about,
    same,
)

# Entry types whose contents are more informative than the entries themselves.
_RECORDS = frozenset({"tuple", "list", "dict", "weakref.finalize._Info"})
#: Entry types that are less informative than the objects that they refer to.
IN_FRONT = _RECORDS | {"function", "method", "builtin_function_or_method", "functools.partial"}
# Types of objects that keep no other object alive.
_LEAVES = frozenset({"int", "float", "complex", "bool", "str", "bytes"})


def keeps_nothing(type_name: str) -> bool:
    """Return whether objects of a type are numbers or texts, which keep no other object alive."""
    return type_name in _LEAVES


def lead_of(types: Sequence[Growth], container: Growth) -> Growth | None:
    """Return the type to name for a container's entries; None if no count of it grows.

    None, too, for a buffer, which is one object.

    Entries that are records or callbacks say little. A class with one instance in each of them says
    more, and so does the builtin type that has most of their bytes. Of a cache on a method, the
    class says more whatever the entries are. Of a class of the program that only the container
    counts, the container says how many there are.
    """
    if container.is_buffer and not container.keeps_graphs:
        return None
    own = next((g for g in types if g.name == container.type), None)
    keyed = next((g for g in types if keeps_self(container.name, g.name)), None)
    if keyed is not None or container.type not in IN_FRONT:
        alone = container if is_users(container.type or "") else None
        return keyed or own or alone
    each = [
        g for g in types if _is_class(g) and as_many(g, container) and not _is_older(g, container)
    ]
    each.sort(key=lambda growing: not is_programs(growing))
    onward = () if container.holder is None else container.holder.onward
    reached = {hop.type for hop in onward}
    in_records = container.type in _RECORDS
    each = [g for g in each if (in_records and is_programs(g)) or g.name in reached]
    return next(iter(each), _heaviest(types, container) or own)


def _is_class(growing: Growth) -> bool:
    return growing.kind == "instances" and not growing.name.startswith("weakref.")


def _is_older(growing: Growth, container: Growth) -> bool:
    """Return whether objects became more long before a container gained any, as births show."""
    if growing.since is None or container.since is None or not container.is_born:
        return False
    return growing.since < MAJORITY * container.since


def _heaviest(types: Sequence[Growth], container: Growth) -> Growth | None:
    """Return the builtin type that has most of the bytes of a container of records."""
    if container.type not in _RECORDS:
        return None
    size = container.kept_rate
    builtin = (g for g in types if not is_programs(g))
    heavy = [g for g in builtin if is_about(g.bytes_rate or 0.0, size)]
    return max(heavy, key=lambda growing: growing.bytes_rate or 0.0, default=None)


def is_filled_by(growing: Growth, container: Growth) -> bool:
    """True if a filling container gains nearly all new objects of a type, or gains as many."""
    gained = container.rate or 0.0
    if container.type == growing.name:
        return (growing.rate or 0.0) <= gained / NEARLY_ALL
    return growing.watched is None and as_many(growing, container)


def as_many(growing: Growth, container: Growth) -> bool:
    """Return True if a type gains as many objects per generation as a container gains entries."""
    return same(growing.rate or 0.0, container.rate or 0.0, SAME_COUNT)


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


def as_counted(container: Growth, entries: Growth | None) -> Growth:
    """Return a container that one look saw, with no more new entries than objects were counted.

    Of one look, it is births that tell the share of the entries that the loop made; the count of
    their type is exact. What is gained since late in the run is compared with what came since then.
    """
    judged, rate = container.judged, container.rate or 0.0
    most = rate if entries is None else max(entries.rate or 0.0, _came(entries, container.since))
    if judged is None or len(judged.series) > 1 or not 0 < most < rate:
        return container
    size = None if container.bytes_rate is None else container.bytes_rate * most / rate
    return replace(container, rate=most, bytes_rate=size)


def _came(entries: Growth, since: int | None) -> float:
    """Return how many objects of a type came in each generation since ``since``; 0 if unknown."""
    if entries.judged is None or since is None or not len(entries.judged.series):
        return 0.0
    series = entries.judged.series
    points = list(zip(series.generations, series.values, strict=True))
    before = [point for point in points if point[0] < since][-1:]
    (_, first), (last, after) = (before or points)[0], points[-1]
    return (after - first) / max(last - since + 1, 1)


def is_bystander(container: Growth, group: Sequence[Growth]) -> bool:
    """Return whether a container gains a trifle of the objects of its type, and of their bytes."""
    grown = next((g for g in group if g.name == container.type), None)
    if grown is None or container.keeps_graphs or not container.proven:
        return False
    known = known_bytes(group)
    is_light = not known or (container.bytes_rate or 0.0) < OWN_SHARE * known
    return is_light and (container.rate or 0.0) < OWN_SHARE * (grown.rate or 0.0)


def is_notable(container: Growth) -> bool:
    """Return True for a container whose growth is reported although no count of a type shows it."""
    if container.is_weak or container.fills or GUARDS_OWN in container.name.partition("[*]")[0]:
        return False
    kept = container.kept_rate
    if container.is_born:
        return kept >= NOTABLE_ENTRIES
    if container.is_buffer or container.keeps_graphs:
        return kept >= BYTES_FLOOR
    judged = container.judged
    seen = judged is not None and judged.grows and len(judged.series) > FEWEST_LOOKS
    return seen and kept >= NOTABLE_ENTRIES


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
