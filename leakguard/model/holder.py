"""Who holds what: containers that keep objects alive, their paths, and a proof that they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.births import Birthplace

# How a holder is emptied if class names do not decide it: ``chain`` (instances that each refer to
# the next by the same attribute, without a container), ``exceptions`` (which keep the frames of
# their tracebacks), ``graphs`` (tensors with a ``grad_fn``), ``views`` (arrays or tensors that
# show a small part of memory that each keeps whole) and ``extension`` (objects of a class that an
# extension module made, which may keep memory that no count of objects shows).
Trait = Literal["chain", "exceptions", "graphs", "views", "extension"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One reference on the way from a root to an object, named as a person would write it.

    ``label`` is for example ``.episodes``, ``['key']``, ``[*]``, ``closure cell x of f`` or
    ``local loss in train()``; ``type`` is the qualified type of what the reference leads to.
    ``suspect`` marks the references that a fix would have to cut.
    """

    label: str
    type: str
    suspect: bool = False

    @property
    def line(self) -> str:
        """The hop as a line of a leak trace."""
        return f"{self.label}  ({self.type})"


@dataclass(frozen=True, slots=True)
class Holder:
    """One container, seen at one moment.

    Attributes:
        path: stable name of the container from a root, indices collapsed.
        element: qualified type of most of its entries.
        entries: how many references it holds.
        before: its entries at the look before; None at the first look.
        streak: at how many looks in a row it had more entries than at the one before.
        capacity: the most entries it can hold (a deque's maxlen); None when it is unbounded.
        bytes: own size of the entries, storage included.
        retained_bytes: what dropping the entries would release; None when it was not computed.
            Less is released where something outside of the walk also holds them.
        trace: the shortest way from a root to one entry.
        fingerprint: the same for the same defect in every run, whatever the addresses and lines.
        graph_nodes: autograd nodes kept alive behind the entries.
        traits: what was seen of a few entries; empty where nothing was, and in older files.
        onward: the way from an entry to what grows, where that lies deeper.
        born: where what it gained since the loop began was made, by the sampled blocks that are
            alive; most bytes first. Empty without a record of births.
    """

    path: str
    element: str
    entries: int
    before: int | None = None
    streak: int = 0
    capacity: int | None = None
    bytes: int | None = None
    retained_bytes: int | None = None
    trace: tuple[Hop, ...] = ()
    fingerprint: str | None = None
    graph_nodes: int | None = None
    traits: tuple[Trait, ...] = ()
    onward: tuple[Hop, ...] = ()
    born: tuple[Birthplace, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """One holder, and the result of cutting it in a copy of the process.

    Attributes:
        held_by: the holder, by its name from a root.
        told: bytes that the walk of the heap says it keeps alive; None where it was not found.
        released: bytes that the allocators had in use before and had not after; None where nothing
            was cut.
        refused: why nothing was cut; None where it was.
    """

    held_by: str
    told: int | None = None
    released: int | None = None
    refused: str | None = None
