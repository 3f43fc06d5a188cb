"""What explains the growth of a type: the row that has it, and what the row gains by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from leakguard.analysis.claims import Claim, strongest
from leakguard.analysis.group import is_programs, known_bytes
from leakguard.analysis.growth import Growth
from leakguard.analysis.knowledge import place_of
from leakguard.analysis.row import LedgerRow
from leakguard.analysis.tolerance import MAJORITY, MOST_IN_EACH, SAME_COUNT, same
from leakguard.model.census import GRAPH_NODE


class Room:
    """What a row keeps, and how much of that no type has been accounted for yet.

    What others hold, too, is retained by none of them. Births tell it, and each is of one holder.

    Attributes:
        row: the row.
        entries: what the row's container gains.
        names: the types that the row is named after.
        whole: the bytes per generation that the row keeps.
        left: the part of them that is not accounted for.
    """

    def __init__(self, row: LedgerRow, born: float) -> None:
        """Take a row, and the bytes per generation that births say its holder gains."""
        self.row = row
        self.entries = row.container or row.lead
        graphs = {"torch.Tensor", GRAPH_NODE} if self.entries.keeps_graphs else set()
        named = (row.lead.name, row.lead.type, self.entries.type)
        self.names = {*filter(None, named), *graphs}
        self.whole = self.left = max(row.bytes_rate or 0.0, self.entries.kept_rate, born)

    def is_near(self, growing: Growth) -> bool:
        """Return whether the row may be in the phase that adds a type."""
        return growing.phase is None or self.row.phase in (growing.phase, None)

    def left_of(self, growing: Growth) -> Growth:
        """Return what this row, which is named after a type, leaves of its growth.

        What lies inside of entries is taken as far as there is room for it.
        """
        count, size = growing.rate or 0.0, growing.bytes_rate or 0.0
        if growing.name == self.entries.type:
            taken = min(self.entries.rate or 0.0, count)
            used = taken / count * size if count else size
        else:
            taken, used = count, min(size, self.left)
        self.takes(used)
        return replace(growing, rate=count - taken, bytes_rate=size - used)

    def takes(self, size: float) -> None:
        """Account for ``size`` bytes of what the row keeps."""
        self.left = max(self.left - size, 0.0)


class TypeAsked(NamedTuple):
    """A type that asks for a row, among the types that its phase adds.

    Attributes:
        growing: what the rows that are named after the type leave of its growth.
        group: the types that the same phase adds, what is told of them left out.
        rooms: what each row has room for.
        room: what all rows had room for before the first of the group asked.
        types: all types that grow, with their whole growth.
    """

    growing: Growth
    group: list[Growth]
    rooms: list[Room]
    room: float
    types: dict[str, Growth]

    @property
    def size(self) -> float:
        """Bytes per generation that ask for a row."""
        return self.growing.bytes_rate or 0.0


class Accounted(NamedTuple):
    """The row that accounts for a type, and the bytes per generation that the row gains by it."""

    room: Room
    size: float = 0.0


def claimed(asked: TypeAsked) -> Accounted | None:
    """Return the row that has the strongest claim to a type; None if none has any."""
    return strongest(CLAIMS, asked)


def is_elsewhere(row: LedgerRow, gained: float) -> bool:
    """Return whether most of what objects gain is not in a row's container, as far as it is known.

    What graphs and threads keep is behind them, in C code and in frames.
    """
    container = row.container
    if container is None or container.holder is None or container.keeps_graphs:
        return False
    place = place_of(container.holder)
    in_it = max(row.bytes_rate or 0.0, container.on_devices(container.rate))
    return (place is None or place.kind is None) and 0 < in_it < MAJORITY * gained


def _in_its_phase(asked: TypeAsked) -> Accounted | None:
    """Rows of the same phase keep most of the bytes, beside what is accounted for."""
    near = [room for room in asked.rooms if room.is_near(asked.growing)]
    if not near or MAJORITY * asked.size > sum(room.left for room in near):
        return None
    return Accounted(max(near, key=lambda room: room.left))


def _among_builtin(asked: TypeAsked) -> Accounted | None:
    """All rows together keep most of what builtin types gain."""
    if is_programs(asked.growing) or is_programs(asked.group[0]) or not asked.rooms:
        return None
    if MAJORITY * known_bytes(asked.group) > asked.room:
        return None
    return Accounted(max(asked.rooms, key=lambda room: room.left))


def _of_its_type(asked: TypeAsked) -> Accounted | None:
    """A row is named after the type, and no other container is known.

    What a graph saved are tensors, which a container does not keep by itself.
    """
    room = next((r for r in _within_reach(asked) if asked.growing.name in r.names), None)
    if room is None:
        return None
    return Accounted(room, max(asked.size - room.whole, 0.0) if room.entries.keeps_graphs else 0.0)


def _in_each_entry(asked: TypeAsked) -> Accounted | None:
    """There are as many objects as a row has entries, or a few times as many."""
    for room in _within_reach(asked):
        if _each_has(asked, room) and not is_elsewhere(room.row, asked.size):
            return Accounted(room, asked.size)
    return None


def _within_reach(asked: TypeAsked) -> Iterator[Room]:
    """Yield the rows of the same phase, and those that keep as many bytes."""
    return (r for r in asked.rooms if r.is_near(asked.growing) or asked.size <= r.whole)


def _each_has(asked: TypeAsked, room: Room) -> bool:
    lead, most = room.row.lead, 1 if is_programs(asked.growing) else MOST_IN_EACH
    gains = (lead, room.entries, asked.types.get(lead.name, lead))
    return any(
        same(asked.growing.rate or 0.0, times * (entries.rate or 0.0), SAME_COUNT)
        for entries in gains
        for times in range(1, most + 1)
    )


CLAIMS = (
    Claim("room in phase", 40, _in_its_phase),
    Claim("room for builtin", 30, _among_builtin),
    Claim("named after it", 20, _of_its_type),
    Claim("one each", 10, _in_each_entry),
)
