"""A defect: one thing to report, with what grows, what holds it, and where it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leakguard.analysis.birthplace import Birth
from leakguard.analysis.case import Case
from leakguard.analysis.growth import Growth
from leakguard.analysis.knowledge import place_of
from leakguard.analysis.live_memory import gained
from leakguard.analysis.sources.types import KINDS
from leakguard.model.finding import Kind

# Kinds whose growth is known in bytes only.
_OF_BYTES = frozenset({"native", "memory"})


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to report: the growth it is named after, what grows with it, and what holds it.

    Attributes:
        lead: the growth that the defect is named after.
        beside: other types that grow for the same reason.
        container: the container that holds the growing objects; None if none was found.
        phase: the phase that adds the objects.
        bytes_rate: bytes per generation that belong to this defect alone; None if unknown.
        native_rate: the part of ``bytes_rate`` that C code allocates for the objects and that no
            line of Python makes.
        birth: where and when the objects were made; None if births do not show it.
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


def with_birth(case: Case, defect: Row, others: Sequence[Row] = ()) -> Row:
    """Return a defect with the births of what it gains, and with the phase that births show.

    What lines made for ``others``, or as the line of another, is no memory without a holder.
    """
    birth = None
    if defect.held_by is not None:
        birth = case.births.of_holder(defect.held_by)
    elif defect.kind in _OF_BYTES:
        birth = born_elsewhere(case, defect.bytes_rate or 0.0, others)
    if birth is None and defect.lead.is_of_larger_objects:
        told = set(map(line_of, others))
        birth = case.births.of_one_piece(gained(defect.lead), defect.lead.since, told)
    if birth is None or birth.phase is None:
        return replace(defect, birth=birth)
    return replace(defect, birth=birth, phase=birth.phase or None)


def born_elsewhere(case: Case, rate: float, defects: Sequence[Row]) -> Birth | None:
    """Return the births of about ``rate`` bytes per generation that no defect accounts for."""
    holders = (defect.held_by for defect in defects)
    return case.births.of_bytes(rate, set(map(line_of, defects)), filter(None, holders))


def line_of(defect: Row) -> str | None:
    """Return the line that made what a defect gains; None if births do not tell it."""
    place = None if defect.birth is None else defect.birth.place
    return None if place is None else place.place


def with_native(defect: Row, rate: float, size: float) -> Row:
    """Return a defect of objects and native memory that together grow by ``rate``.

    ``rate`` is in bytes per generation. ``size`` bytes of native memory are added to what the
    holder retains.
    """
    own, container = defect.bytes_rate or 0.0, defect.container
    defect = replace(defect, bytes_rate=rate, native_rate=max(rate - own, 0.0))
    if container is None or container.holder is None:
        return defect
    kept = (container.holder.retained_bytes or 0) + int(size)
    held = replace(container.holder, retained_bytes=kept)
    return replace(defect, container=replace(container, holder=held))
