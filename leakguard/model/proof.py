"""What came free when a holder was emptied in a copy of the process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proof:
    """One holder, and what cutting it in a copy of the process came to.

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
