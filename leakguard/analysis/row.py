"""A row: one thing to report, with what grows, what holds it, and where it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.birthplace import Birth
from leakguard.analysis.case import Case
from leakguard.analysis.facts.fix import LeftByLine
from leakguard.analysis.facts.measured import LeftOfGenerations
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.knowledge import place_of
from leakguard.analysis.live_memory import gained
from leakguard.analysis.sources.types import KINDS
from leakguard.analysis.tolerance import REPEATED
from leakguard.model.finding import Kind

# Kinds whose growth is known in bytes only.
_OF_BYTES = frozenset({"native", "memory"})


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One thing to report: the growth it is named after, what grows with it, and what holds it.

    Attributes:
        lead: the growth that the row is named after.
        beside: other types that grow for the same reason.
        container: the container that holds the growing objects; None if none was found.
        phase: the phase that adds the objects.
        bytes_rate: bytes per generation that belong to this row alone; None if unknown.
        native_rate: the part of ``bytes_rate`` that C code allocates for the objects and that no
            line of Python makes.
        birth: where and when the objects were made; None if births do not show it.
        is_part: whether it is what one of several lines made of what the lead measured.
    """

    lead: Growth
    beside: tuple[Growth, ...] = ()
    container: Growth | None = None
    phase: str | None = None
    bytes_rate: float | None = None
    native_rate: float = 0.0
    birth: Birth | None = None
    is_part: bool = False

    @property
    def kind(self) -> Kind:
        """What grows, in a user's terms: decided by its graphs, then its place, then its type."""
        container = self.container or self.lead
        if container.keeps_graphs:
            return "autograd"
        holder = None if self.container is None else self.container.holder
        place = None if holder is None else place_of(holder)
        if place is not None and place.kind is not None:
            return place.kind
        if self.lead.source == "container":
            return KINDS.get(self.lead.type or "", "container")
        # The growth of builtin objects is reported as the growth of their container. If no
        # container was found, it is reported as growth of instances.
        unheld = self.container is None and self.lead.kind == "container"
        return "instances" if unheld else self.lead.kind

    @property
    def held_by(self) -> str | None:
        """The path of the holder; None if it is unknown."""
        holder = (self.container or self.lead).holder
        return None if holder is None else holder.path


def with_birth(case: Case, row: LedgerRow, others: Sequence[LedgerRow] = ()) -> LedgerRow:
    """Return a row with the births of what it gains, and with the phase that births show.

    What lines made for ``others``, or as the line of another, is no memory without a holder.
    """
    birth = None
    if row.held_by is not None:
        birth = case.births.of_holder(row.held_by)
    elif row.kind == "cycles" and row.lead.type is not None:
        birth = case.births.of_garbage(row.lead.type)
    elif row.kind in _OF_BYTES or (row.lead.source == "type" and case.births.knows_unheld):
        birth = born_elsewhere(case, row.bytes_rate or 0.0, others)
    if birth is None and row.lead.is_of_larger_objects:
        told = set(map(line_of, others))
        birth = case.births.of_one_piece(gained(row.lead), row.lead.since, told)
    return _in_phase_of_birth(replace(row, birth=birth))


def with_births(
    case: Case, row: LedgerRow, others: Sequence[LedgerRow] = ()
) -> Sequence[LedgerRow]:
    """Return a row with its births; one row a line if several made memory that nobody holds.

    How many objects of a type each line made is unknown then.
    """
    one = _left_by_a_line(case, with_birth(case, row, others))
    is_of_type = row.lead.source == "type" and one.birth is None
    if row.held_by is not None or not (row.kind in _OF_BYTES or is_of_type):
        return [one]
    parts = lines_apart(case, row.bytes_rate or 0.0, others)
    if one.birth is not None and (len(parts) < REPEATED or not case.births.knows_unheld):
        return [one]
    if is_of_type:
        row = replace(row, lead=replace(row.lead, unit="bytes", counts=()))
    rows = [_part(row, left, birth) for left, birth in parts]
    return [_in_phase_of_birth(_left_by_a_line(case, part)) for part in rows] or [one]


def _part(row: LedgerRow, left: float, birth: Birth) -> LedgerRow:
    lead = replace(row.lead, rate=left) if row.lead.unit == "bytes" else row.lead
    return replace(row, lead=lead, birth=birth, bytes_rate=left, is_part=True)


def lines_apart(case: Case, rate: float, rows: Sequence[LedgerRow]) -> list[tuple[float, Birth]]:
    """Return what lines made of ``rate`` bytes per generation that no row accounts for."""
    return case.births.parts_of_bytes(rate, *_lines_and_holders(rows))


def _left_by_a_line(case: Case, row: LedgerRow) -> LedgerRow:
    """Return a row of a rest with the evidence that a line left it in none of the holders."""
    birth, lead = row.birth, row.lead
    if lead.source != "rest" or birth is None or birth.place is None or birth.trail is None:
        return row
    line = birth.place.place
    if line is None or not case.births.knows_unheld or row.held_by is not None:
        return row
    left = LeftOfGenerations(line, birth.trail.since, birth.trail.residue.samples)
    evidence = (*lead.evidence, Evidence("births", left))
    changed = replace(lead, worst="leak", evidence=evidence, fix=LeftByLine(line))
    return replace(row, lead=changed)


def _in_phase_of_birth(row: LedgerRow) -> LedgerRow:
    """Return a row with the phase that its births show; what no phase made is of none."""
    if row.birth is None or row.birth.phase is None:
        return row
    return replace(row, phase=row.birth.phase or None)


def born_elsewhere(case: Case, rate: float, rows: Sequence[LedgerRow]) -> Birth | None:
    """Return the births of about ``rate`` bytes per generation that no row accounts for."""
    return case.births.of_bytes(rate, *_lines_and_holders(rows))


def _lines_and_holders(rows: Sequence[LedgerRow]) -> tuple[set[str | None], list[str]]:
    """Return the lines that made what rows gain, and the paths of those that hold it."""
    return set(map(line_of, rows)), [row.held_by for row in rows if row.held_by]


def line_of(row: LedgerRow) -> str | None:
    """Return the line that made what a row gains; None if births do not tell it."""
    place = None if row.birth is None else row.birth.place
    return None if place is None else place.place


def with_native(row: LedgerRow, rate: float, size: float) -> LedgerRow:
    """Return a row of objects and native memory that together grow by ``rate``.

    ``rate`` is in bytes per generation. ``size`` bytes of native memory are added to what the
    holder retains.
    """
    own, container = row.bytes_rate or 0.0, row.container
    row = replace(row, bytes_rate=rate, native_rate=max(rate - own, 0.0))
    if container is None or container.holder is None:
        return row
    kept = (container.holder.retained_bytes or 0) + int(size)
    held = replace(container.holder, retained_bytes=kept)
    return replace(row, container=replace(container, holder=held))
