"""The growth of RSS between two moments, split into parts."""

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
        since: label of the snapshot at which the growth begins.
        until: label of the snapshot at which the growth ends.
        generations: generations between the two snapshots.
        generation: the generation whose end is the snapshot ``until``; None for other snapshots.
        growth: the growth of RSS, negative if RSS shrank.
        parts: bytes by part, in the order of ``PARTS``; None if a part is unknown.
            ``tensors``, ``arrays`` and ``python`` are live objects in the census; shared storage
            counts once. ``native`` is memory in use in the allocators that belongs to no counted
            object. ``interpreter`` (Python's allocator) and ``allocator`` (the C library's) are
            freed memory that the allocators keep. ``shared`` is file-backed or shared memory.
            ``swapped`` is memory that left RAM, and is therefore negative.
            ``unexplained`` is the rest. It is never None, and it includes all unknown parts. It is
            negative if something counts as allocated but is not in RAM (an array of zeros that was
            never written to), or counts twice (a tensor in shared memory).
        unknown: why a part is None, by part.
    """

    since: str
    until: str
    generations: int
    growth: int
    parts: Mapping[str, int | None]
    unknown: Mapping[str, str] = field(default_factory=dict)
    generation: int | None = None
