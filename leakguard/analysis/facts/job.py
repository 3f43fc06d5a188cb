"""Which processes of a job grow, and what they hold."""

from __future__ import annotations

from msgspec import Struct

from leakguard.model.job import ProcessRow
from leakguard.model.pod import PodRow


class StandsOut(Struct, frozen=True):
    """A process with far more than the others: the median of theirs is ``others``."""

    label: str
    bytes: float
    others: float


class JobGrowth(Struct, frozen=True):
    """What grows in a job.

    Attributes:
        of: what a member is, as the job names it.
        count: how many there are.
        growing: those that grow.
        fastest: the one that grows far faster than the others; None if there is none.
        places: places beside the processes that grow.
    """

    of: str
    count: int
    growing: tuple[ProcessRow, ...]
    fastest: StandsOut | None
    places: tuple[PodRow, ...]


class JobMemory(Struct, frozen=True):
    """What the processes of a job hold, and how some of them ended.

    Attributes:
        rows: all processes.
        growing: those that grow.
        largest: the one that holds far more than the others of its kind; None if there is none.
        pooled: workers of a pool that ended without notice.
        lost: other processes that did so, with the last generation of each.
        again: processes that were started again.
        outside: how many have no guard.
    """

    rows: tuple[ProcessRow, ...]
    growing: tuple[ProcessRow, ...]
    largest: StandsOut | None
    pooled: tuple[ProcessRow, ...]
    lost: tuple[tuple[ProcessRow, int], ...]
    again: tuple[ProcessRow, ...]
    outside: int
