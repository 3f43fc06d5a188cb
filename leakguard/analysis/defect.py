"""Defects of objects: which growing types belong together, and which container holds them.

A leak shows in many counts at once: an environment that is kept keeps dicts, arrays and floats. One
defect is one container that only grows or, if no container was found, all types that one phase
adds. Bytes belong to one defect each.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.birthplace import Birth, birth_of, birth_of_bytes
from leakguard.analysis.case import Case
from leakguard.analysis.group import (
    by_phase,
    gained_bytes,
    is_kept,
    is_programs,
    is_telling,
    known_bytes,
    names_of,
    weight,
    with_owners,
)
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.holders import (
    holder_by_instances,
    holder_by_size,
    holder_of,
    holder_of_as_many,
    holder_of_graph,
    holder_of_most,
    holder_of_rest,
)
from leakguard.analysis.knowledge import keeps_self, place_of
from leakguard.analysis.place_in_loop import (
    loose_phase,
    loose_start,
    phase_of_graph,
    phase_of_memory,
    phases_of,
)
from leakguard.analysis.sources.containers import alike, related
from leakguard.analysis.sources.types import KINDS
from leakguard.analysis.timeline import count_reader
from leakguard.analysis.tolerance import (
    MAJORITY,
    NEARLY_ALL,
    NOTABLE_BUFFER,
    NOTABLE_ENTRIES,
    OWN_SHARE,
    SAME_COUNT,
    SAME_RATE,
    same,
)
from leakguard.model.census import GRAPH_NODE
from leakguard.model.finding import Kind
from leakguard.model.units import format_number

# Entry types whose contents say more than the entries themselves.
_RECORDS = frozenset({"tuple", "list", "dict"})
# Kinds that are known by their bytes only.
_OF_BYTES = frozenset({"native", "memory"})
# Entry types that stand in front of what they keep.
_IN_FRONT = _RECORDS | {"function", "method", "builtin_function_or_method", "functools.partial"}
# Looks that must agree on a container if no type count rose with it. Chosen: one more than a trend
# needs, because nothing else supports it.
_LOOKS_ALONE = 4
# Modules in which the guard keeps its own records.
_GUARDS_OWN = "leakguard."


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing to report: what leads it, what grows with it, and what holds it.

    Attributes:
        lead: the growth it is named after.
        beside: other types that grow for the same reason.
        container: what holds them; None where no container was found.
        phase: the phase that adds them.
        bytes_rate: bytes a generation that are this defect's alone; None where unknown.
        native_rate: those of them that C code keeps for the objects, and no line of Python makes.
        birth: where and when they were made; None where births do not tell.
    """

    lead: Growth
    beside: tuple[Growth, ...] = ()
    container: Growth | None = None
    phase: str | None = None
    bytes_rate: float | None = None
    native_rate: float = 0.0
    birth: Birth | None = None

    @property
    def kind(self) -> Kind:
        """What grows, as a user would sort it: by its graphs, its place, its type."""
        container = self.container or self.lead
        if container.keeps_graphs:
            return "autograd"
        holder = None if self.container is None else self.container.holder
        place = None if holder is None else place_of(holder)
        if place is not None and place.kind is not None:
            return place.kind
        if self.lead.source == "container":
            return KINDS.get(self.lead.type or "", "container")
        # Report builtin objects as the growth of their container; without a container, as
        # themselves.
        unheld = self.container is None and self.lead.kind == "container"
        return "instances" if unheld else self.lead.kind

    @property
    def held_by(self) -> str | None:
        """The path of what holds them."""
        holder = (self.container or self.lead).holder
        return None if holder is None else holder.path


@dataclass(frozen=True, slots=True)
class Objects:
    """The defects that are made of objects, and the containers that only fill."""

    defects: tuple[Defect, ...]
    filling: tuple[Growth, ...]


def object_defects(
    case: Case, types: Sequence[Growth], containers: Sequence[Growth], excused: Iterable[str]
) -> Objects:
    """Return one defect per container that holds growing types, then those without a container.

    ``excused`` are paths of containers that are explained otherwise.
    """
    sorter = _Sorter(case, list(containers))
    types = sorter.add_born(types)
    for phase, group in sorted(with_owners(by_phase(types)).items(), key=weight):
        sorter.add_group(phase, group)
    sorter.join_method_caches()
    sorter.add_loose(set(excused))
    return Objects(tuple(sorter.defects), tuple(sorter.filling))


class _Sorter:
    """Assigns containers to each group of growing types, each container once."""

    def __init__(self, case: Case, containers: list[Growth]) -> None:
        self.case = case
        self.containers = containers
        self.defects: list[Defect] = []
        self.filling: list[Growth] = []
        self._merged: set[str] = set()

    @property
    def _holder_paths(self) -> set[str]:
        return {d.held_by for d in self.defects if d.held_by is not None}

    def add_born(self, types: Sequence[Growth]) -> list[Growth]:
        """Add the containers of which births show that each round left as much, each by itself.

        Returns:
            The types that these do not account for.
        """
        rest, born = list(types), [c for c in self.containers if c.is_born]
        self.filling += [c for c in born if c.fills]
        for container in [c for c in born if not c.fills]:
            alike_named = any(alike(container.name) == alike(name) for name in self._holder_paths)
            if alike_named or not _is_notable(container):
                self._merged |= {container.name} if alike_named else set()
                continue
            lead = next((g for g in rest if _leads(g, container)), None)
            told = container if lead is None else _part(self.case, lead, container)
            self.defects.append(Defect(told, (), container, None, container.bytes_rate))
            rest = [g for g in rest if not self._is_accounted(g)]
        return rest

    def _is_accounted(self, growing: Growth) -> bool:
        """Return whether a type gains no more than the defects so far have of it."""
        mine = [d for d in self.defects if growing.name in (d.lead.name, d.lead.type)]
        gained = sum((d.container or d.lead).rate or 0.0 for d in mine)
        return bool(mine) and (growing.rate or 0.0) <= (1 + SAME_RATE) * gained

    def add_group(self, phase: str | None, group: list[Growth]) -> None:
        """Add the defects of the types that one phase adds."""
        named = self._holder_paths
        # Everything that one container holds is one defect, even if other phases made parts of it.
        holding = _holding(group, self.containers)
        if holding and holding[0].name in named:
            return
        fresh = [c for c in self.containers if c.name not in named]
        growing = _holding(group, fresh) or _holders_of_most(group, fresh)
        kept = sum(c.bytes_rate or 0.0 for c in self.containers if c.fills or c.name in named)
        if not growing and is_kept(group, kept):
            return
        names, full = names_of(group), [c for c in fresh if c.fills]
        self.filling += [c for c in full if c.type in names and c not in self.filling]
        if growing:
            self._by_container(phase, group, growing, full)
        else:
            self._unheld(phase, group, full)

    def _unheld(self, phase: str | None, group: list[Growth], full: list[Growth]) -> None:
        rest = [g for g in group if not any(_explains(container, g) for container in full)]
        if rest and is_telling(self.case, rest):
            lead = rest[0]
            # Three looks prove the growth of builtin objects, whose count rises by many. The class
            # that holds them rises by one or two and needs more looks.
            looks = [] if is_programs(lead) else self.case.timeline.counted_since(lead.since)
            kept = holder_by_instances(self.case, looks, gained_bytes(rest))
            if kept is not None:
                self._add(phase, _counted_in(self.case, lead, kept), rest, kept, known_bytes(rest))
                return
            container = holder_of(self.case, lead.name, lead.rate or 0.0)
            if container is not None and any(
                related(container.name, n) for n in self._holder_paths
            ):
                return  # a part of what is told already
            nodes = next((g for g in rest if g.name == GRAPH_NODE), None)
            graph = None if nodes is None else holder_of_graph(self.case, nodes)
            if container is None and nodes is not None and graph is not None:
                # Report a list of tensors by its contents, and one tensor by the graph behind it.
                lead, container = nodes if graph.type == GRAPH_NODE else _lead(rest, graph), graph
            elif container is None and is_programs(lead):
                container = holder_of_as_many(self.case, lead.name)
            elif container is None:
                gained = gained_bytes(rest)
                container = self._holder_of_bytes(rest, gained, lead.name)
                lead = lead if container is None else _lead(rest, container)
            elif (elsewhere := self._elsewhere(rest, container)) is not None:
                rest, apart = [lead], [growing for growing in rest if growing is not lead]
                inside = [g for g in apart if g.name == elsewhere.type] or apart
                most = max(inside, key=lambda growing: growing.bytes_rate or 0.0)
                self._add(phase, most, apart, elsewhere, known_bytes(apart))
            self._add(phase, lead, rest, container, known_bytes(rest))

    def _elsewhere(self, group: list[Growth], container: Growth) -> Growth | None:
        """Return what retains most of a group's bytes, if its lead's container retains few of them.

        Types that grow together need not be held together: a loader in each generation, and
        weights.
        """
        gained = gained_bytes(group)
        kept = gained if container.holder is None else container.holder.retained_bytes
        if kept is None or kept >= OWN_SHARE * gained or len(group) == 1:
            return None
        return self._holder_of_bytes(group, gained)

    def _holder_of_bytes(
        self, group: list[Growth], gained: float, type_name: str = ""
    ) -> Growth | None:
        """Return the container that retains the group's gain: by its classes, else by its size."""
        most = holder_of_most(self.case, names_of(group), gained)
        return most or holder_by_size(self.case, gained, type_name)

    def _by_container(
        self, phase: str | None, group: list[Growth], growing: list[Growth], full: list[Growth]
    ) -> None:
        """Add the group's main container with what leads the group, then the others.

        The main one does not count what goes into others, or into containers that only fill.
        """
        first = next((c for c in growing if c.type == group[0].name), growing[0])
        own = self._others(first, group, growing)
        late = self._late(group, [first, *own])
        own += late
        taken = {c.type for c in own} - {first.type}
        rest = [g for g in group if g.name not in taken] or group
        lead = _lead(rest, first)
        others = [c for c in (*own, *full) if c.type in names_of(rest)]
        size = known_bytes(rest) - sum(c.bytes_rate or 0.0 for c in others)
        if lead.name in {c.type for c in others}:
            lead = _part(self.case, lead, first)
        given = [(d.phase, d.bytes_rate) for d in self.defects if d.phase and d.bytes_rate]
        phases = phases_of(self.case, phase, group, [first, *own], given)
        self._add(phases[first.name], lead, rest, first, size)
        for container in own:
            grown = next(g for g in group if g.name == container.type)
            part = _part(self.case, grown, container)
            self._add(phases[container.name], part, [part], container, 0.0)

    def _others(self, first: Growth, group: list[Growth], growing: list[Growth]) -> list[Growth]:
        """Return the containers of a group that are defects of their own beside the first.

        The same place in each of several modules, workers or shards is one defect, and so are two
        ways to the same objects, unless there is much behind the second one.
        """
        same_place = [c for c in growing if alike(c.name) == alike(first.name)]
        self._merged |= {c.name for c in same_place}
        least = OWN_SHARE * max(first.bytes_rate or 0.0, known_bytes(group))
        rest = [c for c in growing if c not in same_place and c.type in names_of(group)]
        return [
            c for c in rest if (c.bytes_rate or 0.0) >= least or _is_apart(c, group, [first, *rest])
        ]

    def _late(self, group: list[Growth], known: list[Growth]) -> list[Growth]:
        """Return the containers with the instances of a type that are in none of the others."""
        late = []
        for growing in filter(is_programs, group):
            mine = [c for c in known if c.type == growing.name and c.proven]
            held = sum(c.rate or 0.0 for c in mine)
            if mine and (growing.rate or 0.0) > (1 + SAME_RATE) * held:
                late.append(holder_of_rest(self.case, growing, mine))
        return [container for container in late if container is not None]

    def _add(
        self,
        phase: str | None,
        lead: Growth,
        group: list[Growth],
        container: Growth | None,
        own_bytes: float,
    ) -> None:
        """Add a defect.

        The census counts the objects themselves, the container what they keep alive: the larger of
        the two is closer to the whole. A text log has only numbers of the process.
        """
        beside = tuple(growing for growing in group if growing.name != lead.name)
        size = max(_kept_by(container, lead), own_bytes)
        phase = phase or phase_of_graph(self.case, lead, container)
        phase = phase or phase_of_memory(self.case, lead, size)
        known = size if size > 0 else _process_bytes(self.case, lead, phase)
        self.defects.append(Defect(lead, beside, container, phase, known))

    def join_method_caches(self) -> None:
        """Attribute objects without a holder to the cache on a method of theirs: one defect."""
        for loose in [d for d in self.defects if d.container is None and d.lead.source == "type"]:
            for cache in [d for d in self.defects if d.container is not None]:
                if keeps_self(cache.held_by or "", loose.lead.name):
                    sizes = (loose.bytes_rate or 0.0, cache.bytes_rate or 0.0)
                    beside = (cache.lead, *cache.beside, *loose.beside)
                    joined = replace(cache, lead=loose.lead, beside=beside, bytes_rate=max(sizes))
                    self.defects.remove(loose)
                    self.defects[self.defects.index(cache)] = joined
                    break

    def add_loose(self, excused: set[str]) -> None:
        """Add containers and buffers that grow although no count of a type shows it.

        A text or an array that is extended stays one object. The backward graph behind a state that
        is never detached has no Python objects at all.
        """
        known = self._holder_paths | self._merged | excused | {c.name for c in self.filling}
        for container in self.containers:
            is_related = any(related(container.name, path) for path in known)
            if not is_related and _is_notable(container):
                phase = loose_phase(self.case, container)
                self.defects.append(Defect(container, (), container, phase, container.bytes_rate))


def with_birth(case: Case, defect: Defect) -> Defect:
    """Return a defect with where and when what it gains was made, and in which phase."""
    birth = birth_of(case.run, defect.held_by)
    if birth is None and defect.held_by is None and defect.kind in _OF_BYTES:
        birth = birth_of_bytes(case.run, defect.bytes_rate or 0.0)
    if birth is None or birth.phase is None:
        return replace(defect, birth=birth)
    return replace(defect, birth=birth, phase=birth.phase or None)


def with_native(defect: Defect, rate: float, size: float) -> Defect:
    """Return a defect whose objects, and ``size`` bytes in C, together grow by ``rate``."""
    own, container = defect.bytes_rate or 0.0, defect.container
    defect = replace(defect, bytes_rate=rate, native_rate=max(rate - own, 0.0))
    if container is None or container.holder is None:
        return defect
    kept = (container.holder.retained_bytes or 0) + int(size)
    held = replace(container.holder, retained_bytes=kept)
    return replace(defect, container=replace(container, holder=held))


# -- containers of a group -------------------------------------------------------------------------


def _holding(group: list[Growth], containers: list[Growth]) -> list[Growth]:
    """Return the unbounded containers whose elements, or graphs, belong to the group."""
    names = names_of(group)
    strong = any(map(is_programs, group))
    own = [
        container
        for container in containers
        if (container.type in names or (container.keeps_graphs and "torch.Tensor" in names))
        # A weak reference keeps no object alive, and a registry of weak references follows its
        # objects.
        and not (container.is_weak and (strong or _is_standard(container.name)))
    ]
    return [c for c in own if not c.fills]


def _is_standard(path: str) -> bool:
    """True for a place in the standard library."""
    return path.partition(".")[0] in sys.stdlib_module_names


def _holders_of_most(group: list[Growth], containers: list[Growth]) -> list[Growth]:
    """Return the container that keeps the group alive although its elements are of other types.

    It must retain about as much as the group weighs: a larger one holds something else.
    """
    known = known_bytes(group)
    least, most = MAJORITY * known, known / MAJORITY
    return [c for c in containers if not c.fills and least < (c.bytes_rate or 0.0) <= most][:1]


def _leads(growing: Growth, container: Growth) -> bool:
    """Return True for the type to name of a container's entries.

    It is theirs, unless a class of the program of which there is one in each tells more.
    """
    if container.type in _RECORDS and is_programs(growing) and as_many(growing, container):
        return True
    return growing.name == container.type


def _explains(container: Growth, growing: Growth) -> bool:
    """True if nearly all of a type's gain goes into a container that fills, or comes with it."""
    gained = container.rate or 0.0
    if container.type == growing.name:
        return (growing.rate or 0.0) <= gained / NEARLY_ALL
    return growing.watched is None and as_many(growing, container)


def as_many(growing: Growth, container: Growth) -> bool:
    """Return True if as many objects are added as entries of a container."""
    return same(growing.rate or 0.0, container.rate or 0.0, SAME_COUNT)


def _lead(group: list[Growth], container: Growth) -> Growth:
    """Return the type to name: that of the entries, else the program's own class.

    If each entry is a tuple or dict with one instance of a class, the class says more. What only
    grows beside a container of other objects does not lie in it.
    """
    entry = next((g for g in group if g.name == container.type), None)
    if is_programs(group[0]) and (entry is None or entry.name in _IN_FRONT):
        return group[0]
    lead = entry or group[0]
    inside = (g for g in group if "." in g.name and as_many(g, container))
    return next(inside, lead) if lead.name in _RECORDS else lead


def _counted_in(case: Case, lead: Growth, kept: Growth) -> Growth:
    """Return the growth of a container's contents, as far as their companions show it."""
    name = kept.type or ""
    series = case.timeline.best_series(name, count_reader(name))
    return replace(
        lead,
        name=name,
        kind=KINDS.get(name, "instances"),
        type=name,
        rate=kept.rate,
        interval=None,
        judged=case.judge(series, integer=True),
        contribution=case.type_share(name, lead.since),
        evidence=kept.evidence,
    )


def _is_apart(container: Growth, group: list[Growth], all_: list[Growth]) -> bool:
    """True if a type's containers together gain no more than the type: they share nothing."""
    grown = next(g for g in group if g.name == container.type)
    together = sum(c.rate or 0.0 for c in all_ if c.type == container.type)
    return container.proven and together <= (1 + SAME_RATE) * (grown.rate or 0.0)


def _part(case: Case, growing: Growth, container: Growth) -> Growth:
    """Return the part of a type's growth that goes into one of several containers."""
    if container.judged is None or (container.proven and as_many(growing, container)):
        return growing
    rate = container.rate or 0.0
    return replace(
        growing,
        rate=rate,
        bytes_rate=container.bytes_rate,
        interval=None,
        since=loose_start(case, container),
        counts=tuple(map(int, container.judged.series.values)),
        judged=container.judged,
        evidence=(
            Evidence("count", f"{format_number(rate)} per generation of what the count gains"),
        ),
    )


# -- containers without a type ---------------------------------------------------------------------


def _is_notable(container: Growth) -> bool:
    if container.is_weak or container.fills or _GUARDS_OWN in container.name.partition("[*]")[0]:
        return False
    kept = container.bytes_rate or 0.0
    if container.is_buffer or container.keeps_graphs:
        return kept >= NOTABLE_BUFFER
    judged = container.judged
    seen = judged is not None and judged.grows and len(judged.series) >= _LOOKS_ALONE
    return (seen or container.is_born) and kept >= NOTABLE_ENTRIES


def _kept_by(container: Growth | None, lead: Growth) -> float:
    """Return the bytes a generation that a container keeps: as looks followed it, or by its share.

    One that was seen once has no course of its own; each of its entries keeps as much as another,
    and as many came in each generation since what is in them began to grow.
    """
    if container is None or container.judged is None or container.holder is None:
        return 0.0 if container is None else container.bytes_rate or 0.0
    holder, looks = container.holder, container.judged.series
    if len(looks) > 1 or not holder.entries:
        return container.bytes_rate or 0.0
    rounds = max(looks.generations[-1] - (lead.since or 0) + 1, 1)
    came = min(lead.rate or 0.0, holder.entries / rounds)
    return (holder.retained_bytes or 0) / holder.entries * came


def _process_bytes(case: Case, lead: Growth, phase: str | None) -> float | None:
    """Return the growth of the process in a phase, if its objects were not sized."""
    shares = (
        case.contribution(metric, lead.since).by_phase.get(phase, 0.0)
        for metric in ("heap_in_use", "rss")
    )
    return next((share for share in shares if share > 0), None)
