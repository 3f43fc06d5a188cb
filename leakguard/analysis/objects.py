"""Rows of objects: which container gained what, and what no container accounts for.

A leak shows in many counts at once: an environment that is kept keeps dicts, arrays and floats. So
containers come first. Each that grows by itself has a row, which lays claim to the types that lie
in it. Of the types that are left the table of holders is asked; what nobody holds has a row for
each phase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.case import Case
from leakguard.analysis.claims.types import Accounted, Room, TypeAsked, claimed, is_elsewhere
from leakguard.analysis.entries import (
    as_counted,
    as_many,
    is_bystander,
    is_filled_by,
    is_notable,
    kept_by,
    lead_of,
    part_of,
)
from leakguard.analysis.group import by_phase, is_programs, is_telling, known_bytes, weight
from leakguard.analysis.growth import Growth
from leakguard.analysis.holders import holder_of, holder_of_graph
from leakguard.analysis.place_in_loop import phase_of_memory, process_bytes
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.sources.containers import alike, related, together
from leakguard.analysis.tolerance import MAJORITY, NOTABLE_ENTRIES, OWN_SHARE
from leakguard.model.census import GRAPH_NODE


@dataclass(frozen=True, slots=True)
class Objects:
    """The rows of objects, and the containers that only fill."""

    rows: tuple[LedgerRow, ...]
    filling: tuple[Growth, ...]


def object_rows(
    case: Case, types: Sequence[Growth], containers: Sequence[Growth], excused: Iterable[str]
) -> Objects:
    """Return one row per container that grows, then the rows of types that none accounts for.

    ``excused`` are the paths of containers that are already explained.
    """
    book = _Book(case, types, containers, set(excused))
    for place in _places(containers):
        book.enter(place)
    for phase, group in sorted(by_phase(book.left()).items(), key=weight):
        book.ask(phase, group)
    return Objects(tuple(book.rows), tuple(book.filling()))


def _places(containers: Iterable[Growth]) -> Iterable[list[Growth]]:
    """Return the containers that grow, those at one place of several objects together."""
    places: dict[str, dict[str, Growth]] = {}
    for container in (c for c in containers if not c.fills):
        places.setdefault(alike(container.name), {}).setdefault(container.name, container)
    return [list(place.values()) for place in places.values()]


class _Book:
    """The rows of one run as they are entered, and what they leave of each type."""

    def __init__(
        self, case: Case, types: Sequence[Growth], containers: Sequence[Growth], excused: set[str]
    ) -> None:
        self.case = case
        self.types = {growing.name: growing for growing in types}
        self.containers = containers
        self.rooms: list[Room] = []
        self._left = dict(self.types)
        self._full = [c for c in containers if c.fills]
        self._told = excused | {c.name for c in self._full}

    def filling(self) -> Iterator[Growth]:
        """Yield the containers that only fill, with objects that become more."""
        return (c for c in self._full if c.is_born or c.type in self.types)

    # -- containers that grow by themselves --------------------------------------------------------

    def enter(self, place: list[Growth]) -> None:
        """Add a row for a place whose containers grow, named after what lies in it."""
        container = together(place)
        entries = self.types.get(container.type or "")
        container = as_counted(container, entries)
        left = self.left()
        is_leading = any(g.name == container.type for g in left) and not container.is_weak
        if not is_notable(container) and (not is_leading or is_bystander(container, left)):
            return
        if self._is_told(container):
            return
        self._told |= {c.name for c in place}
        others = {c.type for c in self.containers if c not in place}
        inside = [g for g in left if g.name not in others and g is not entries]
        lead = lead_of([*inside, *filter(None, (entries,))], container) or container
        if lead is entries:
            alike_gain = container.type in others
            lead = part_of(self.case, entries, container, others_gain=alike_gain)
        phase = self._phase(container, entries)
        self._enter_row(LedgerRow(lead, (), container, phase, container.bytes_rate))

    def _is_told(self, container: Growth) -> bool:
        return any(related(container, path) for path in self._told)

    def _phase(self, container: Growth, entries: Growth | None) -> str | None:
        birth = self.case.births.of_holder(container.name)
        if birth is not None and birth.phase is not None:
            return birth.phase or None
        if entries is None:
            return self.case.memory_share(container.since).main_phase()
        size = container.bytes_rate or 0.0
        return entries.phase or phase_of_memory(self.case, entries, size)

    # -- what they account for ---------------------------------------------------------------------

    @property
    def rows(self) -> list[LedgerRow]:
        """The rows so far."""
        return [room.row for room in self.rooms]

    def left(self) -> list[Growth]:
        """Return what rows that are named after a type leave of each type, if it is no trifle."""
        return [left for name, left in self._left.items() if not self._is_little(name, left)]

    def _is_little(self, name: str, left: Growth) -> bool:
        whole = self.types[name]
        if left is whole:
            return False
        count, size = OWN_SHARE * (whole.rate or 0.0), OWN_SHARE * (whole.bytes_rate or 0.0)
        return (left.rate or 0.0) <= count or (left.bytes_rate or 0.0) < size

    def _enter_row(self, row: LedgerRow) -> None:
        """Add a row, which takes what it can of the types that it is named after."""
        birth = None if row.held_by is None else self.case.births.of_holder(row.held_by)
        room = Room(row, 0.0 if birth is None else birth.left)
        self.rooms.append(room)
        for name in [name for name in self._left if name in room.names]:
            self._left[name] = room.left_of(self._left[name])
        self._told |= set() if row.held_by is None else {row.held_by}

    def _is_inside(self, size: float) -> bool:
        """Return whether most of ``size`` is more than live memory gained besides all rows."""
        memory = self.case.memory()
        if memory is None or not memory.grows or not self.rows:
            return False
        return MAJORITY * size > self._memory_left(memory.verdict.rate)

    def _memory_left(self, rate: float) -> float:
        return (1 + OWN_SHARE) * rate - sum(row.bytes_rate or 0.0 for row in self.rows)

    # -- types that no growing container accounts for ----------------------------------------------

    def ask(self, phase: str | None, group: list[Growth]) -> None:
        """Add the rows of types that one phase adds and no row accounts for."""
        rest = [g for g in group if not any(is_filled_by(g, c) for c in self._full)]
        for growing in list(rest):
            container = self._gaining(growing)
            if container is not None and kept_by(container, growing) >= NOTABLE_ENTRIES:
                part = part_of(self.case, lead_of(rest, container) or growing, container)
                self._add(phase, [part], container)
                rest.remove(growing)
        rest = self._unclaimed(rest)
        if rest and not is_telling(self.case, rest):
            self._mention(rest)
        elif rest and (is_programs(rest[0]) or not self._is_inside(known_bytes(rest))):
            lead, found = self._searched(rest)
            if found is None or not self._is_told(found):
                self._add(phase, [lead, *(g for g in rest if g is not lead)], found)

    def _unclaimed(self, group: list[Growth]) -> list[Growth]:
        """Return the types of a group to which no row lays claim; the others join their row."""
        rest, room = list(group), sum(room.left for room in self.rooms)
        for growing in sorted(group, key=lambda g: g.bytes_rate or 0.0):
            asked = TypeAsked(growing, group, self.rooms, room, self.types)
            taken = claimed(asked)
            if taken is not None:
                self._join(growing, taken)
                rest.remove(growing)
        return rest

    def _join(self, growing: Growth, taken: Accounted) -> None:
        """Add a type to those that a row tells of; a class of the program becomes its name."""
        room, row = taken.room, taken.room.row
        room.takes(growing.bytes_rate or 0.0)
        memory, size = self.case.memory(), taken.size
        if memory is not None and memory.grows:
            size = min(size, max(self._memory_left(memory.verdict.rate), 0.0))
        known = None if row.bytes_rate is None and not size else (row.bytes_rate or 0.0) + size
        lead, beside = row.lead, (*row.beside, growing)
        named = growing.phase == row.phase and as_many(growing, room.entries)
        if named and is_programs(growing) and not is_programs(lead):
            lead, beside = growing, (*row.beside, lead)
        room.row = replace(row, lead=lead, beside=beside, bytes_rate=known)

    def _mention(self, group: list[Growth]) -> None:
        """Add types that come to too little for a row to the row of their phase."""
        phase = group[0].phase
        room = next((r for r in self.rooms if phase is not None and r.row.phase == phase), None)
        if room is not None:
            room.row = replace(room.row, beside=(*room.row.beside, *group))

    def _gaining(self, growing: Growth) -> Growth | None:
        """Return the container that gained what a type gained, unless a row accounts for it.

        The container may lie inside the objects of a row. Then its path begins with their class,
        or most of what it retains is more than live memory has gained besides all rows.
        """
        container = holder_of(self.case, growing.name, growing.rate or 0.0, must_gain=True)
        if container is None or self._is_told(container):
            return None
        if any(container.name.startswith(f"{row.lead.name}.") for row in self.rows):
            return None
        return None if self._is_inside(kept_by(container, growing)) else container

    def _searched(self, group: list[Growth]) -> tuple[Growth, Growth | None]:
        """Return the type to name, and its holder; None if unknown.

        If the holder is a single tensor with a backward graph, its entries are graph nodes, and the
        row is named after the nodes.
        """
        lead, nodes = group[0], next((g for g in group if g.name == GRAPH_NODE), None)
        found = holder_of(self.case, lead.name, lead.rate or 0.0)
        if found is None and nodes is not None:
            found = holder_of_graph(self.case, nodes)
        return (lead, None) if found is None else (lead_of(group, found) or lead, found)

    def _add(self, phase: str | None, group: list[Growth], container: Growth | None) -> None:
        """Add a row that is named after the first type of a group.

        The census counts the objects themselves, the container what they keep alive. The larger of
        the two is used, because it is closer to the total, unless most of what builtin objects gain
        is not in the container. A text log has only metrics of the process.
        """
        lead, *beside = group
        own, kept = known_bytes(group), kept_by(container, lead)
        row = LedgerRow(lead, tuple(beside), container, phase, kept)
        size = kept if not is_programs(lead) and is_elsewhere(row, own) else max(kept, own)
        phase = phase or phase_of_memory(self.case, lead, size)
        known = size if size > 0 else process_bytes(self.case, lead, phase)
        self._enter_row(replace(row, phase=phase, bytes_rate=known))
