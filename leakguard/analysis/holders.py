"""Finds the holder of growing objects in the last look, if no container was seen growing.

Each function uses a different sign. The containers that these functions return are not ``proven``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from leakguard.analysis.case import Case, slope
from leakguard.analysis.class_owner import is_users
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge import place_of
from leakguard.analysis.sources.containers import (
    GUARDS_OWN,
    NO_ROOT,
    Look,
    alike,
    growth_of,
    looks_at_holders,
    related,
)
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, SAME_COUNT, SAME_RATE, same
from leakguard.model import Census, Holder
from leakguard.model.holder import ELEMENT
from leakguard.model.series import Series

# A container with exactly one entry (or two, or three) per past generation at every look is taken
# for the holder. Each look must come after more generations than this. Chosen: many containers have
# up to a dozen entries from the beginning, and a dozen may equal the number of generations by
# chance.
_FEW_GENERATIONS = 12
# Types whose instances refer to no other object, and so keep no other object alive.
_LEAVES = frozenset({"str", "bytes", "bytearray", "int", "float", "bool", "complex", "NoneType"})


def holder_of(case: Case, type_name: str, rate: float) -> Growth | None:
    """Return the holder of a type that grows by ``rate`` per generation; None if unknown.

    The holder is the container that gained as many instances in the latest looks, or else the
    container of most new instances, of most instances, or a chain of instances.
    """
    looks = looks_at_holders(case)
    if not looks:
        return None
    return (
        holder_that_gained(case, type_name, rate)
        or _crowded(case, type_name, looks)
        or _linked(case, type_name, looks)
    )


def holder_that_gained(case: Case, type_name: str, rate: float) -> Growth | None:
    """Return the container that gained what a type gained between looks; None if none did."""
    looks = looks_at_holders(case)
    if not looks:
        return None
    return (
        _gaining(case, type_name, rate, looks)
        or _gained_most(case, type_name, looks)
        or _with_all(case, type_name, rate, looks)
    )


def holder_of_most(case: Case, names: Iterable[str], size: float) -> Growth | None:
    """Return the container that retains most of ``size`` bytes, found by the growing classes.

    The container must hold most objects of one of the classes ``names``.
    """
    looks = looks_at_holders(case)
    found = [] if not looks else [
        container
        for name in names
        if "." in name and (container := _crowded(case, name, looks)) is not None
    ]  # fmt: skip
    large = [c for c in found if c.holder and (c.holder.retained_bytes or 0) >= MAJORITY * size > 0]
    strong = [c for c in large if not c.is_weak]
    return max(strong, key=lambda c: (c.holder and c.holder.retained_bytes) or 0, default=None)


def holder_by_instances(
    case: Case, looks: Sequence[tuple[int, Census]], size: float
) -> Growth | None:
    """Return the container of a program's class whose new instances retain most of ``size`` bytes.

    Between the first and the last of ``looks``, the class must have gained at least one instance
    per two generations. The looks are too few to judge whether the count keeps growing. The
    returned rate is the mean rate of the count.
    """
    if len(looks) < 2:
        return None
    (first, before), *_, (last, after) = looks
    more = {name: (after.count(name) or 0) - (before.count(name) or 0) for name in after.types}
    often = [n for n in more if is_users(n) and more[n] >= MAJORITY * (last - first)]
    container = holder_of_most(case, often, size)
    if container is None or container.holder is None or container.type is None:
        return None
    holder, new = container.holder, more[container.type]
    if (holder.retained_bytes or 0) * new < MAJORITY * size * holder.entries:
        return None
    kept = f"{holder.path} keeps {holder.entries:,} {container.type}"
    found = Evidence("holders", f"{kept}: {new:+,} since generation {first}")
    return replace(container, rate=new / (last - first), evidence=(found,))


def holder_of_leaves(
    case: Case, type_name: str, size: float, known: Sequence[str]
) -> Growth | None:
    """Return another container of leaves, such as texts, that retains about ``size`` bytes.

    A leaf refers to no object, so the bytes of a leaf type are those that its containers retain.
    What the ``known`` containers do not retain lies in others. None for a type that is no leaf.
    """
    looks = looks_at_holders(case)
    if type_name not in _LEAVES or not looks:
        return None
    found = [
        holder
        for holder in _unbounded(type_name, looks)
        if size * MAJORITY <= (holder.retained_bytes or 0) <= size / MAJORITY
        and _came(case, holder, looks)
        and not any(related(holder.path, path) for path in known)
    ]
    best = max(found, key=lambda holder: holder.retained_bytes or 0, default=None)
    return None if best is None else _unproven(case, best, looks)


def holder_by_size(case: Case, size: float, type_name: str = "") -> Growth | None:
    """Return the container that began to hold about ``size`` bytes during the recorded looks.

    The type of its entries may differ from the type that grows: an error keeps its frames and
    buffers. A container counts as new if any of these is true: most of its entries appeared between
    looks; it has a constant whole number of entries per generation; it is a chain that grew; or, if
    there was only one inspection, it contains instances of ``type_name`` and retains more than all
    instances of that type did at an earlier census.
    """
    looks = looks_at_holders(case)
    if not looks or size <= 0:
        return None
    guards = tuple(h.path for h in looks[-1][1] if (h.element or "").startswith(GUARDS_OWN))
    together = _retained_together(looks[-1][1])
    found = [
        holder
        for holder in looks[-1][1]
        if size * MAJORITY <= together[alike(holder.path)] <= size / MAJORITY
        and holder.capacity is None
        and not holder.path.startswith((NO_ROOT, *guards))
        and _may_hold(holder, type_name)
        and (
            _came(case, holder, looks)
            or _is_chain_that_came(holder, looks, size)
            or _gets_as_many(case, holder, looks)
            or _outweighs(case, holder, looks, type_name)
        )
    ]
    best = min(found, key=lambda h: (-(h.retained_bytes or 0), len(h.path)), default=None)
    if best is None:
        return None
    if not _came(case, best, looks) and _is_chain_that_came(best, looks, size):
        chain = replace(best, trace=best.trace[:-1], traits=(*best.traits, "chain"))
        return growth_of(case, [(looks[-1][0], chain)], proven=False)
    return _unproven(case, best, looks)


def _may_hold(holder: Holder, type_name: str) -> bool:
    """Return False if the entries refer to no object and are not of type ``type_name``."""
    return holder.element == type_name or holder.element not in _LEAVES


def _retained_together(holders: Iterable[Holder]) -> Counter[str]:
    """Return the bytes that each place retains, summed over modules, workers or shards."""
    together: Counter[str] = Counter()
    for holder in holders:
        together[alike(holder.path)] += holder.retained_bytes or 0
    return together


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


def largest_graph(graphs: Iterable[Holder]) -> Holder:
    """Return the holder of most nodes of backward graphs.

    If several holders retain the same nodes, return the holder that contains the tensors.
    """
    return max(graphs, key=lambda g: (g.graph_nodes or 0, "graphs" in g.traits, g.path))


def holder_of_as_many(case: Case, type_name: str) -> Growth | None:
    """Return the container with one entry per instance of a type that retains what memory gained.

    The entries have another type: objects are often registered by a bound method.
    """
    memory, looks = case.memory(), looks_at_holders(case)
    if memory is None or not memory.grows or not looks:
        return None
    generation, holders = looks[-1]
    end, generations = case.timeline.ends.get(generation), memory.series.generations
    alive = 0 if end is None else end.count(type_name) or 0
    span = generations[-1] - max(memory.started_at or 0, generations[0]) + 1
    found = [
        holder
        for holder in holders
        if alive >= FEWEST_LOOKS
        and same(holder.entries, alive, SAME_COUNT)
        and (holder.retained_bytes or 0) >= MAJORITY * memory.verdict.rate * span
        and holder.capacity is None
        and not holder.path.startswith(NO_ROOT)
    ]
    best = max(found, key=lambda holder: holder.retained_bytes or 0, default=None)
    return None if best is None else _unproven(case, best, looks)


def holder_of_rest(case: Case, growing: Growth, known: Sequence[Growth]) -> Growth | None:
    """Return the container of those instances of a type that are in none of the ``known`` ones.

    Only the last look names this container. Its growth is the growth of the type's count, minus the
    growth of the known containers at their rates.
    """
    looks = looks_at_holders(case)
    paths = {container.name for container in known}
    if not looks or growing.judged is None:
        return None
    generation, counts = looks[-1][0], growing.judged.series
    others = [c for c in known if c.judged is not None and c.judged.series.generations]
    rest = tuple(
        max(value - sum(_entries_at(c, at) for c in others), 0.0)
        for at, value in zip(counts.generations, counts.values, strict=True)
    )
    for holder in _unbounded(growing.name, looks):
        is_apart = not any(related(holder.path, path) for path in paths)
        if is_apart and same(holder.entries, rest[-1], SAME_RATE) and holder.streak == 0:
            series = Series(holder.path, "count", counts.generations, rest)
            return _by_rest(case, holder, generation, series)
    return None


def _by_rest(case: Case, holder: Holder, generation: int, rest: Series) -> Growth | None:
    """Return a container's growth from ``rest``: a type's counts less those in other containers."""
    none = [at for at, value in zip(rest.generations, rest.values, strict=True) if value == 0]
    looks = [place for place, at in enumerate(rest.generations) if at >= max(none, default=0)]
    if len(looks) < 2:
        return None
    generations = tuple(rest.generations[place] for place in looks)
    entries = tuple(rest.values[place] for place in looks)
    # If the first look found no entries, growth began between the first two looks. Only the looks
    # after the first then show the rate.
    pace = slope(generations[1:], entries[1:]) or slope(generations, entries)
    if pace <= 0:
        return None
    began = max(round(generations[-1] - entries[-1] / pace + 1), generations[0])
    first = entries[0] == 0 and len(entries) >= FEWEST_LOOKS
    generations, entries = generations[first:], entries[first:]
    found = growth_of(case, [(generation, holder)], proven=False)
    size = (holder.retained_bytes or 0) / holder.entries * pace if holder.entries else 0.0
    judged = case.judge(replace(rest, generations=generations, values=entries), integer=True)
    return replace(found, rate=pace, bytes_rate=size, since=began, judged=judged)


def _entries_at(container: Growth, generation: int) -> float:
    """Return a container's entries at a generation, extrapolated from its last look at its rate."""
    assert container.judged is not None
    series, rate = container.judged.series, container.rate or 0.0
    return max(series.values[-1] - rate * (series.generations[-1] - generation), 0.0)


def _came(case: Case, holder: Holder, looks: list[Look]) -> bool:
    """Return whether a container gained most of its entries since the first inspection.

    A container that only the look at the end of the run found may have been filled after the last
    generation, for example a figure of logged values.
    """
    before = [h.entries for _, holders in looks[:-1] for h in holders if h.path == holder.path]
    if not before:  # earlier looks found it too small to name, or the last look was the only one
        if len(looks) > 1 and (holder.retained_bytes or 0) <= case.timeline.came_after_loop:
            return False
        before = [0] if len(looks) > 1 else [holder.before or holder.entries]
    return holder.entries - before[0] >= MAJORITY * holder.entries


def _is_chain_that_came(holder: Holder, looks: list[Look], size: float) -> bool:
    """Return whether most of ``size`` bytes are new and reached through a link of a chain.

    A link, such as a wrapper of a wrapped function, has few entries and keeps the next link. The
    same step leads from each link to the next, and what the links retain grows.
    """
    base, step = holder.path.removesuffix(ELEMENT), _last_step(holder)
    beyond = (h.path.removeprefix(base) for h in looks[-1][1] if h.path.startswith(base))
    if not step or not any(step in path for path in beyond):
        return False
    kept = [h.retained_bytes for _, holders in looks[:-1] for h in holders if h.path == holder.path]
    before = [retained for retained in kept if retained is not None]
    return bool(before) and (holder.retained_bytes or 0) - before[0] >= MAJORITY * size


def _last_step(holder: Holder) -> str:
    """Return the step that leads to the container itself; empty if it is a root."""
    *steps, _ = holder.trace or ("",)
    return steps[-1].label if len(steps) > 1 else ""


def _gets_as_many(case: Case, holder: Holder, looks: list[Look]) -> bool:
    """Return whether every look found the same whole number of entries per past generation.

    A container of layers or files may have such a size by chance. The same whole number at every
    look, after more than ``_FEW_GENERATIONS`` generations, is rarely chance.
    """
    seen = [
        (h.entries, case.run.generations_until(generation))
        for generation, held in looks
        for h in held
        if h.path == holder.path
    ]
    even = all(many > _FEW_GENERATIONS and entries % many == 0 for entries, many in seen)
    if not even or len(seen) != len(looks):
        return False
    each = {entries // many for entries, many in seen}
    return len(each) == 1 and each != {0}


def _outweighs(case: Case, holder: Holder, looks: list[Look], type_name: str) -> bool:
    """Return whether a container's instances of a type retain more than the type once weighed.

    The comparison is with the bytes of all instances at the first census, and applies only if there
    was one inspection.
    """
    generation, holders = looks[-1]
    inside = [
        h
        for h in holders
        if h.element == type_name and h.path.startswith(holder.path.removesuffix(ELEMENT))
    ]
    ends = case.timeline.ends.items()
    counted = [s.census.types.get(type_name) for g, s in ends if s.census and g < generation]
    if len(looks) > 1 or not inside or not counted or counted[0] is None:
        return False
    if (
        holder.entries < FEWEST_LOOKS
    ):  # a container with few entries does not grow itself: the growing objects lie deeper
        return False
    kept = sum(h.retained_bytes or 0 for h in inside if h is not holder) or holder.retained_bytes
    return MAJORITY * (kept or 0) > (counted[0].bytes or 0)


def _gaining(case: Case, type_name: str, rate: float, looks: list[Look]) -> Growth | None:
    for holder in _unbounded(type_name, looks):
        container = _unproven(case, holder, looks)
        if holder.streak >= FEWEST_LOOKS - 1 and same(container.rate or 0.0, rate, SAME_RATE):
            return container
    return None


def _gained_most(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    """Return the container that gained most of what a type gained between the same looks."""
    generation, holders = looks[-1]
    alive = _alive(case, type_name, generation)
    for holder in _unbounded(type_name, looks):
        first, entries = _first_seen(holder, looks)
        if holder.entries - entries >= MAJORITY * (alive - _alive(case, type_name, first)) > 0:
            return _unproven(case, _around(holder, holders), looks)
    return None


def _with_all(case: Case, type_name: str, rate: float, looks: list[Look]) -> Growth | None:
    """Return a container that one look saw, with all that a type has gained in the loop.

    After a few generations, a container may have so many entries by chance.
    """
    generation, holders = looks[-1]
    many = case.run.generations_until(generation)
    for holder in _unbounded(type_name, looks):
        is_new = _first_seen(holder, looks)[0] == generation
        if is_new and many > _FEW_GENERATIONS and same(holder.entries, rate * many, SAME_RATE):
            return _unproven(case, _around(holder, holders), looks)
    return None


def _crowded(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    generation, holders = looks[-1]
    alive = _alive(case, type_name, generation)
    for holder in _unbounded(type_name, looks):
        if holder.entries >= MAJORITY * alive > 0 and not _is_still(holder, looks):
            return _unproven(case, _around(holder, holders), looks)
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


def _linked(case: Case, type_name: str, looks: list[Look]) -> Growth | None:
    """Return the outermost of several containers that each contain the next, as a chain.

    Each instance keeps the previous instance in an entry of its own dictionary, as modules do.
    """
    inside = sorted(_unbounded(type_name, looks), key=lambda holder: len(holder.path))
    for first, second in pairwise(inside):
        before = first.path.removesuffix(ELEMENT)
        link = second.path.removeprefix(before).removesuffix(ELEMENT)
        links = [h for h in inside if h.path.startswith(before + link) or h is first]
        if second.path.startswith(before) and link and len(links) >= FEWEST_LOOKS:
            trace = second.trace[: len(first.trace)]
            chain = replace(first, trace=trace, traits=(*first.traits, "chain"))
            return growth_of(case, [(looks[-1][0], chain)], proven=False)
    return None


def _unbounded(type_name: str, looks: list[Look]) -> Iterator[Holder]:
    """Yield a type's containers in the last look that have a root and no bound."""
    for holder in looks[-1][1]:
        is_rooted = not holder.path.startswith(NO_ROOT)
        if holder.element == type_name and holder.capacity is None and is_rooted:
            yield holder


def _around(holder: Holder, holders: tuple[Holder, ...]) -> Holder:
    """Return the outermost container around ``holder`` that gained entries; else ``holder``.

    A known place around ``holder`` counts too, without having been seen to gain entries.
    """
    outer = (
        other
        for other in sorted(holders, key=lambda other: len(other.path))
        if other.capacity is None
        and (
            (holder.path.startswith(other.path) and other.streak >= FEWEST_LOOKS - 1)
            or _is_place_around(other, holder)
        )
    )
    return next(outer, holder)


def _is_place_around(outer: Holder, inner: Holder) -> bool:
    """Return True if ``outer`` is a known place around ``inner`` and retains at least as much.

    ``outer`` must have several entries: contents of a single entry do not show what it keeps.
    """
    base = outer.path.removesuffix(ELEMENT)
    return (
        outer is not inner
        and inner.path.startswith(base)
        and outer.entries >= FEWEST_LOOKS
        and (outer.retained_bytes or 0) >= (inner.retained_bytes or 0)
        and place_of(outer) is not None
    )


def _unproven(case: Case, holder: Holder, looks: list[Look]) -> Growth:
    seen = [(g, h) for g, holders in looks for h in holders if h.path == holder.path]
    return growth_of(case, seen, proven=False)
