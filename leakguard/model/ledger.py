"""Where the growth of RSS between two moments went, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = (
    "tensors", "arrays", "python", "native", "interpreter", "allocator", "shared", "swapped",
    "unexplained",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ledger:
    """The growth of RSS from one snapshot to another, in bytes; the known parts sum to it exactly.

    Attributes:
        since: label of the snapshot it is measured from.
        until: label of the snapshot it is measured to.
        generations: generations between them.
        generation: the generation at whose end it is measured; None outside of one.
        growth: the growth of RSS, negative where it shrank.
        parts: bytes by part, in the order of ``PARTS``; None where a part is unknown.
            ``tensors``, ``arrays`` and ``python`` are live objects that a census saw, each byte of
            shared storage once; ``native`` is in use in the allocators and belongs to none of
            them; ``interpreter`` and ``allocator`` were freed and are kept for later;
            ``shared`` is file-backed or shared memory; ``swapped`` left RAM and so is negative.
            ``unexplained`` is the rest, never None, and holds what unknown parts would. It is
            negative where something counts as allocated and is not in RAM, for example an array
            of zeros that nobody has written to, or a tensor in shared memory, counted twice.
        unknown: why a part is None, by part.
    """

    since: str
    until: str
    generations: int
    growth: int
    parts: Mapping[str, int | None]
    unknown: Mapping[str, str] = field(default_factory=dict)
    generation: int | None = None
