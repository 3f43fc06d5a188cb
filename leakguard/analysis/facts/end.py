"""How a run died, and who held the memory then."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from leakguard.model.brink import Ceiling
from leakguard.model.holder import Holder

#: What is known: memory ran out, and an exception or the kernel said so, or may have; or the
#: process was killed or crashed far from each limit, near one, or at an unknown distance.
How = Literal["exception", "OOM kill", "far", "near", "unknown"]


class Share(Struct, frozen=True):
    """The share of the memory of the process that a container held."""

    path: str
    share: float


class HeldAtEnd(Struct, frozen=True):
    """Who held most at the last look near the limit.

    Attributes:
        holder: the holder to blame; None without such a look.
        share: its share of the memory of the process.
        before: seconds from the look to the last record; None if unknown.
        of_gpu: whether it is the memory of a GPU.
        matters: whether the share is large enough to name it as what held the memory.
        larger: a container that held more, but did not grow; None if there is none.
        skipped: why there was no look although one was due.
    """

    holder: Holder | None = None
    share: float | None = None
    before: float | None = None
    of_gpu: bool = False
    matters: bool = False
    larger: Share | None = None
    skipped: str | None = None


class End(Struct, frozen=True):
    """How a run ended: ``ceiling`` is the nearest limit at the last record, if known."""

    how: How
    kind: str
    generation: int | None
    ceiling: Ceiling | None
