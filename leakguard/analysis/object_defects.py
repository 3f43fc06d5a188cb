"""Defects of objects: which growing types belong together, and which container holds them.

A leak shows in many counts at once: an environment that is kept keeps dicts, arrays and floats. One
defect is one container that only grows or, if no container was found, all types that one phase
adds. Each byte belongs to one defect only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.case import Case
from leakguard.analysis.defect import Defect
from leakguard.analysis.group import (
    by_phase,
    is_kept,
    is_programs,
    is_telling,
    known_bytes,
    names_of,
    weight,
)
from leakguard.analysis.group_holders import (
    as_many,
    explains,
    holding,
    is_apart,
    is_notable,
    kept_by,
    lead_of,
    lead_of_entries,
    not_in,
    part_of,
    process_bytes,
    retaining_most,
)
from leakguard.analysis.growth import Growth
from leakguard.analysis.holders import (
    holder_of,
    holder_of_graph,
    holder_that_gained,
)
from leakguard.analysis.knowledge import keeps_self, place_of
from leakguard.analysis.place_in_loop import (
    phase_of_memory,
)
from leakguard.analysis.sources.containers import alike, related, together
from leakguard.analysis.tolerance import (
    MAJORITY,
    NOTABLE_ENTRIES,
    OWN_SHARE,
    SAME_RATE,
)
from leakguard.model.census import GRAPH_NODE


@dataclass(frozen=True, slots=True)
class Objects:
    """The defects of objects, and the containers that only fill."""

    defects: tuple[Defect, ...]
    filling: tuple[Growth, ...]


def object_defects(
    case: Case, types: Sequence[Growth], containers: Sequence[Growth], excused: Iterable[str]
) -> Objects:
    """Return one defect per container of growing types, then the defects without a container.

    ``excused`` are the paths of containers that are already explained.
    """
    sorter = _Sorter(case, list(containers))
    types = sorter.add_born(types)
    for phase, group in sorted(by_phase(types).items(), key=weight):
        sorter.add_group(phase, group)
    sorter.join_method_caches()
    sorter.add_loose(set(excused))
    return Objects(tuple(sorter.defects), tuple(sorter.filling))


class _Sorter:
    """Assigns containers to groups of growing types; each container is assigned once."""

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
        """Add one defect for each container in which every round left as much, according to births.

        Returns:
            The types that these containers do not account for.
        """
        rest, born = list(types), [c for c in self.containers if c.is_born]
        self.filling += [c for c in born if c.fills]
        gaining = [c for c in born if not c.fills]
        for place in dict.fromkeys(alike(c.name) for c in gaining):
            same_place = [c for c in gaining if alike(c.name) == place]
            container = together(same_place)
            if not is_notable(container):
                continue
            self._merged |= {c.name for c in same_place[1:]}
            # Objects of which another container gains all are accounted for there.
            others = [c for c in gaining if c.type != container.type]
            mine = [g for g in rest if not any(g.name == c.type and as_many(g, c) for c in others)]
            lead = lead_of_entries(mine, container) or container
            if lead.name == container.type:
                alike_gain = any(c.type == lead.name for c in gaining if c not in same_place)
                lead = part_of(self.case, lead, container, others_gain=alike_gain)
            self.defects.append(Defect(lead, (), container, None, container.bytes_rate))
            rest = [g for g in rest if not self._is_accounted(g)]
        return rest

    def _is_accounted(self, growing: Growth) -> bool:
        """Return whether the defects so far account for all that a type gains.

        Objects inside the entries of a container are compared by their bytes.
        """
        mine = self._told_of(growing)
        if any(d.container is not None and d.container.type != growing.name for d in mine):
            size = sum(max(d.bytes_rate or 0.0, (d.container or d.lead).kept_rate) for d in mine)
            return (growing.bytes_rate or 0.0) <= (1 + SAME_RATE) * size
        gained = sum((d.container or d.lead).rate or 0.0 for d in mine)
        return bool(mine) and (growing.rate or 0.0) <= (1 + SAME_RATE) * gained

    def _told_of(self, growing: Growth) -> list[Defect]:
        """Return the defects that are named after a type."""
        return [d for d in self.defects if growing.name in (d.lead.name, d.lead.type)]

    def add_group(self, phase: str | None, group: list[Growth]) -> None:
        """Add the defects of a group: the types whose growth one phase adds."""
        named = self._holder_paths
        # All objects in one container are one defect, even if other phases made some of them.
        held = holding(group, self.containers)
        if held and held[0].name in named:
            group = [self._left(g) for g in group if self._gaining(g) is not None]
        if not group:
            return
        fresh = [c for c in self.containers if c.name not in named]
        growing = holding(group, fresh)
        if not growing and self._gaining(group[0]) is None:
            growing = retaining_most(group, fresh)
            group = group if growing else self._apart(group)
            if not group:
                return
        names, full = names_of(group), [c for c in fresh if c.fills]
        self.filling += [c for c in full if c.type in names and c not in self.filling]
        apart = not_in(growing, group)
        if apart:
            if is_notable(growing[0]):
                self._by_container(phase, [g for g in group if g not in apart], growing, full)
            self.add_group(phase, apart)
        elif growing:
            self._by_container(phase, group, growing, full)
        else:
            self._unheld(phase, group, full)

    def _apart(self, group: list[Growth]) -> list[Growth]:
        """Return the types of a group that no defect and no filling container accounts for."""
        named = self._holder_paths
        kept = sum(c.kept_rate for c in self.containers if c.fills or c.name in named)
        apart = [g for g in group if not self._comes_with_a_defect(g)]
        if not apart or is_kept(apart, kept) or self._is_inside(known_bytes(apart)):
            return []
        return apart

    def _comes_with_a_defect(self, growing: Growth) -> bool:
        """Return whether a container keeps as many other objects, and at least as many bytes."""
        size = growing.bytes_rate or 0.0
        holders = ((d.container, d.bytes_rate or 0.0) for d in self.defects)
        return any(c is not None and as_many(growing, c) and size <= kept for c, kept in holders)

    def _left(self, growing: Growth) -> Growth:
        """Return the part of a type's growth that no defect accounts for."""
        mine = self._told_of(growing)
        counted = sum((d.container or d.lead).rate or 0.0 for d in mine)
        size = sum(d.bytes_rate or 0.0 for d in mine)
        return replace(
            growing,
            rate=max((growing.rate or 0.0) - counted, 0.0),
            bytes_rate=max((growing.bytes_rate or 0.0) - size, 0.0),
        )

    def _gaining(self, growing: Growth) -> Growth | None:
        """Return the container that gained what a type gained, unless a defect accounts for it.

        The container may lie inside the objects of a defect. Then its path begins with their class,
        or most of what it retains is more than live memory has gained besides all defects.
        """
        container = holder_that_gained(self.case, growing.name, growing.rate or 0.0)
        known = self._holder_paths | self._merged | {c.name for c in self.filling}
        if container is None or any(related(container.name, path) for path in known):
            return None
        if any(container.name.startswith(f"{defect.lead.name}.") for defect in self.defects):
            return None
        return None if self._is_inside(kept_by(container, growing)) else container

    def _is_inside(self, size: float) -> bool:
        """Return whether most of ``size`` is more than live memory gained besides all defects."""
        memory = self.case.memory()
        if memory is None or not memory.grows or not self.defects:
            return False
        gained = (1 + SAME_RATE) * memory.verdict.rate
        left = gained - sum(defect.bytes_rate or 0.0 for defect in self.defects)
        return MAJORITY * size > left

    def _unheld(self, phase: str | None, group: list[Growth], full: list[Growth]) -> None:
        """Add the defects of a group for whose types no container was seen growing."""
        rest = [g for g in group if not any(explains(container, g) for container in full)]
        if not rest or not is_telling(self.case, rest):
            return
        lead = rest[0]
        container = holder_of(self.case, lead.name, lead.rate or 0.0)
        if container is None:
            lead, container = self._searched(lead, rest)
            self._add(phase, lead, rest, container, known_bytes(rest))
        elif not any(related(container.name, named) for named in self._holder_paths):
            self._by_holder(phase, lead, rest, container)

    def _searched(self, lead: Growth, group: list[Growth]) -> tuple[Growth, Growth | None]:
        """Return the type to name, and the holder that its count does not show; None if unknown.

        If the holder is a single tensor with a backward graph, its entries are graph nodes, and the
        defect is named after the nodes. Otherwise it is named after the type of the entries.
        """
        nodes = next((g for g in group if g.name == GRAPH_NODE), None)
        found = None if nodes is None else holder_of_graph(self.case, nodes)
        if nodes is not None and found is not None and found.type == GRAPH_NODE:
            return nodes, found
        return (lead, None) if found is None else (lead_of(group, found), found)

    def _by_holder(
        self, phase: str | None, lead: Growth, group: list[Growth], container: Growth
    ) -> None:
        """Add a defect for the lead's container, and for each that holds a part of the group."""
        own = self._untold(group, lead, [container])
        taken = {c.type for c in own} - {lead.name}
        rest = [g for g in group if g.name not in taken]
        lead = lead_of(rest, container) if container.rate else lead
        self._add_parts(None, group, own)
        self._add(phase, lead, rest, container, known_bytes(rest))

    def _by_container(
        self, phase: str | None, group: list[Growth], growing: list[Growth], full: list[Growth]
    ) -> None:
        """Add a defect for the group's main container with the lead type, then the others.

        The bytes of the main container leave out what the other containers, and containers that
        only fill, gain.
        """
        first = next((c for c in growing if c.type == group[0].name), growing[0])
        own = self._others(first, group, growing)
        own += self._untold(group, group[0], [first, *own])
        taken = {c.type for c in own} - {first.type}
        rest = [g for g in group if g.name not in taken] or group
        lead = lead_of(rest, first)
        others = [c for c in (*own, *full) if c.type in names_of(rest)]
        size = known_bytes(rest) - sum(c.bytes_rate or 0.0 for c in others)
        if lead.name in {c.type for c in others}:
            lead = part_of(self.case, lead, first)
        same_place = [c for c in growing if alike(c.name) == alike(first.name)]
        self._add(phase, lead, rest, together(same_place), size)
        self._add_parts(phase, group, own)

    def _add_parts(self, phase: str | None, group: list[Growth], containers: list[Growth]) -> None:
        """Add a defect for each container, with that part of the group that it holds."""
        for container in containers:
            grown = next(g for g in group if g.name == container.type)
            part = part_of(self.case, grown, container)
            self._add(phase, part, [part], container, 0.0)

    def _others(self, first: Growth, group: list[Growth], growing: list[Growth]) -> list[Growth]:
        """Return the containers of a group that are separate defects from the first.

        The same place in several modules, workers or shards is one defect. Two paths to the same
        objects are one defect as well, unless the second path retains much.
        """
        same_place = [c for c in growing if alike(c.name) == alike(first.name)]
        self._merged |= {c.name for c in same_place}
        least = OWN_SHARE * max(first.bytes_rate or 0.0, known_bytes(group))
        rest = [c for c in growing if c not in same_place and c.type in names_of(group)]
        return [
            c for c in rest if (c.bytes_rate or 0.0) >= least or is_apart(c, group, [first, *rest])
        ]

    def _untold(self, group: list[Growth], lead: Growth, known: list[Growth]) -> list[Growth]:
        """Return containers that keep what the known ones do not, though no trend proves them.

        The first of the known ones holds the lead. Each container has the type whose objects it
        keeps, which may lie deeper than its entries.
        """
        found: list[Growth] = []
        for growing in group:
            others = [*known, *found]
            known_type = growing.name == lead.name or any(c.type == growing.name for c in others)
            container = None if known_type else self._gaining(growing)
            if container is not None and kept_by(container, growing) >= NOTABLE_ENTRIES:
                inside = any(
                    related(container.name, other.name)
                    or container.name.startswith(f"{other.type}.")
                    for other in others
                )
                found += [] if inside else [replace(container, type=growing.name)]
        return found

    def _add(
        self,
        phase: str | None,
        lead: Growth,
        group: list[Growth],
        container: Growth | None,
        own_bytes: float,
    ) -> None:
        """Add a defect.

        The census counts the objects themselves, the container what they keep alive. The larger of
        the two is used, because it is closer to the total, unless most of what builtin objects gain
        is not in the container. A text log has only metrics of the process.
        """
        beside = tuple(growing for growing in group if growing.name != lead.name)
        kept = kept_by(container, lead)
        elsewhere = not is_programs(lead) and _are_elsewhere(container, kept, own_bytes)
        size = kept if elsewhere else max(kept, own_bytes)
        phase = phase or phase_of_memory(self.case, lead, size)
        known = size if size > 0 else process_bytes(self.case, lead, phase)
        self.defects.append(Defect(lead, beside, container, phase, known))

    def join_method_caches(self) -> None:
        """Merge objects without a holder into the defect of a cache on a method of their class."""
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
        """Add containers and buffers whose growth no count of a type shows.

        A text or an array that is extended stays one object. The backward graph of a state that is
        never detached has no Python objects at all.
        """
        known = self._holder_paths | self._merged | excused | {c.name for c in self.filling}
        for container in self.containers:
            is_related = any(related(container.name, path) for path in known)
            if not is_related and is_notable(container):
                phase = self.case.memory_share(container.since).main_phase()
                self.defects.append(Defect(container, (), container, phase, container.bytes_rate))


def _are_elsewhere(container: Growth | None, kept: float, gained: float) -> bool:
    """Return whether most of what objects gain is not in their container, as far as it is known.

    What graphs and threads keep is behind them, in C code and in frames.
    """
    if container is None or container.holder is None or container.keeps_graphs:
        return False
    place = place_of(container.holder)
    in_it = max(kept, container.on_devices(container.rate))
    return (place is None or place.kind is None) and 0 < in_it < MAJORITY * gained
