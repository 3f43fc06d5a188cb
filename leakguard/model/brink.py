"""How near a process is to a limit of its memory, and who held the memory there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakguard.model.holder import Holder

#: What limits memory: a cgroup, the point from which a cgroup is slowed down, the limits of the
#: process (RLIMIT_AS, RLIMIT_DATA), what the machine has left, one that the run knew of (a
#: cgroup's or the machine's), or the memory of a GPU.
LimitKind = Literal["cgroup", "cgroup high", "address space", "data", "machine", "known", "gpu"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One limit of memory: ``used`` of ``most`` bytes are taken.

    For a cgroup, ``used`` is what all of its processes take, without the pages of files that the
    kernel can drop. For the machine, ``used`` is what this process takes and ``most`` is that and
    what the machine has left. For a GPU, ``used`` is what torch has allocated in this process.
    """

    kind: LimitKind
    used: int
    most: int

    @property
    def share(self) -> float:
        """The share of the limit that is used."""
        return self.used / self.most if self.most > 0 else 0.0

    @property
    def left(self) -> int:
        """The bytes up to the limit."""
        return max(self.most - self.used, 0)


@dataclass(frozen=True, slots=True)
class Brink:
    """A process near a limit of its memory.

    Attributes:
        ceiling: the limit that is nearest.
        threshold: the share of the limit that was passed, for which a look was due; None for a
            line that only has the numbers.
        holders: who held the memory, most important first; estimated from samples. Empty without a
            look.
        found: the bytes that the look accounts for.
        grew: whether an earlier look had remembered sizes, so that growth is known.
        own: bytes of the process itself in RAM; if a GPU is the limit, those that torch has
            allocated on it.
        skipped: why there was no look although one was due.
        stalled: the share of the last 10 seconds, in per cent, in which something waited for memory
            (PSI); None where the kernel does not tell.
    """

    ceiling: Ceiling
    threshold: float | None = None
    holders: tuple[Holder, ...] = ()
    found: int | None = None
    grew: bool = False
    own: int | None = None
    skipped: str | None = None
    stalled: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that says that memory ran out, and that ended the run.

    ``type`` is the class of the exception, ``message`` the beginning of its text.
    """

    type: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Death:
    """How a run ended that recorded no proper end, or that ran out of memory.

    Attributes:
        of_memory: True if it ran out of memory; False if not; None if that is not known.
        sentence: what is known of the end.
        holder: the path of the container that held most; None if unknown.
        share: its share of the memory of the process.
        kind: ``OOM kill``, ``killed``, or the class of the exception.
        generation: the generation in which it ended.
        ceiling: the nearest limit at the last record; None if unknown.
        before: seconds from the look at the holders to the last record.
    """

    of_memory: bool | None
    sentence: str
    kind: str
    generation: int | None = None
    holder: str | None = None
    share: float | None = None
    ceiling: Ceiling | None = None
    before: float | None = None
