"""Who holds what: containers that keep objects alive, their paths, and a proof that they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.births import Birthplace

#: The ending of a path that leads to the entries of a container.
ELEMENT = "[*]"
# A property of a holder's entries, on which the proposed fix may depend:
# * ``chain``: instances that each refer to the next by the same attribute, without a container;
# * ``exceptions``: exceptions, which keep the frames of their tracebacks;
# * ``graphs``: tensors with a ``grad_fn``;
# * ``views``: arrays or tensors that show small parts of buffers and keep whole buffers alive;
# * ``extension``: objects of a class from an extension module, which may own memory that no count
#   of objects shows.
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
        before: how many entries it held at the previous look; None at the first look.
        streak: at how many consecutive looks it held more entries than at the look before.
        capacity: the most entries it can hold (a deque's maxlen); None if it is unbounded.
        bytes: the size of the entries themselves, storage included.
        retained_bytes: bytes that dropping the entries would release; None if not computed. Less is
            released if something outside the heap walk also holds the entries.
        trace: the shortest path from a root to one entry.
        fingerprint: the same for the same defect in every run, independent of addresses and lines.
        graph_nodes: autograd nodes that the entries keep alive.
        traits: traits that a sample of a few entries showed; empty in older files.
        onward: the path from an entry to what grows, if the growth lies deeper than the entry.
        born: where the objects that the container gained since the loop began were made, according
            to sampled blocks that are alive; most bytes first. Empty without a record of births.
        kept_at: the lines of the program's source that add to it, ``trainer.py:93 in validate``;
            empty if the source was not read, or if it does not show this clearly.
        device_bytes: bytes on GPUs and other devices behind the entries, which no other number
            here contains; None if there are none.
        containers: how many containers lie at the path, which ``entries`` counts together; None in
            older files.
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
    kept_at: tuple[str, ...] = ()
    device_bytes: int | None = None
    containers: int | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """One holder, and the result of emptying it in a copy of the process.

    Attributes:
        held_by: the path of the holder from a root.
        told: bytes that the holder retains according to the heap walk; None if the walk did not
            find the holder.
        released: bytes by which the allocators' memory in use fell; None if nothing was emptied.
        refused: why the holder was not emptied; None if it was.
    """

    held_by: str
    told: int | None = None
    released: int | None = None
    refused: str | None = None
