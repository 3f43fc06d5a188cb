"""What an instrument measured: one class for each kind of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from leakguard.analysis.facts.reason import Reason
from leakguard.model.metric import Unit


@dataclass(frozen=True, slots=True)
class CountGrows:
    """The count of a type grows at ``rate``."""

    rate: float


@dataclass(frozen=True, slots=True)
class CountShare:
    """What the count of a type gains goes into one container at ``rate``."""

    rate: float


@dataclass(frozen=True, slots=True)
class MetricGrows:
    """A number of the process grows; ``why`` is how its series shows it."""

    metric: str
    unit: Unit
    rate: float
    interval: tuple[float, float]
    why: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class GrowsInPools:
    """Live memory grows in the small-object allocator, and in no reachable object."""

    memory: MetricGrows


@dataclass(frozen=True, slots=True)
class PagesCopied:
    """Private memory grows beside an ``rss`` that stays, in bytes; None if that is unknown."""

    private: MetricGrows
    rss: float | None


@dataclass(frozen=True, slots=True)
class HeldFree:
    """The C allocator keeps ``rate`` more bytes free, ``held`` by now, beside live memory."""

    rate: float
    held: float
    live: float | None


@dataclass(frozen=True, slots=True)
class MoreFrozen:
    """``gc.freeze`` hides ``rate`` more objects, ``frozen`` by now."""

    rate: float
    frozen: float


@dataclass(frozen=True, slots=True)
class MemoryToo:
    """A memory measure grows beside a type; ``in_phase`` if it does so in the same phase."""

    metric: str
    in_phase: bool


@dataclass(frozen=True, slots=True)
class MemoryGrew:
    """A memory measure grew beside a container."""

    metric: str


@dataclass(frozen=True, slots=True)
class MetricToo:
    """Another number of the process grows, too."""

    metric: str


@dataclass(frozen=True, slots=True)
class NotAsExpected:
    """There are ``alive`` instances where the user expects another number."""

    expected: tuple[int, int]
    alive: int


@dataclass(frozen=True, slots=True)
class ContainerGrows:
    """A container gains entries at ``rate``; its bound, if it has one, does not help."""

    path: str
    rate: float
    keeps_graphs: bool
    is_bounded: bool


@dataclass(frozen=True, slots=True)
class GrewAtLooks:
    """A container grew at each of some consecutive looks."""

    path: str
    looks: int
    bytes_rate: float


@dataclass(frozen=True, slots=True)
class GainedEntries:
    """A container that one look saw has more entries than were counted at first."""

    path: str
    rate: float


@dataclass(frozen=True, slots=True)
class KeptOfGenerations:
    """A container keeps as much of what each generation has made, by samples of births."""

    path: str
    since: int
    samples: int


@dataclass(frozen=True, slots=True)
class GrewInOnePiece:
    """A buffer was larger at each of some looks, by samples of births."""

    path: str
    looks: int


@dataclass(frozen=True, slots=True)
class KeptOfRounds:
    """A container keeps about as much of what each round of a level has made."""

    path: str
    level: str
    kept: int
    rounds: int


@dataclass(frozen=True, slots=True)
class GraphKept:
    """Holders keep a backward graph; ``more`` nodes of such graphs came since a generation."""

    holders: tuple[str, ...]
    nodes: int
    more: int
    since: int


@dataclass(frozen=True, slots=True)
class BehindExtension:
    """Memory in no counted object grows while these objects of an extension are kept."""

    metric: str
    rate: float


@dataclass(frozen=True, slots=True)
class GaugeGrows:
    """A gauge grows past ``capacity``; None if it has none, or is not past it."""

    name: str
    rate: float
    capacity: float | None


@dataclass(frozen=True, slots=True)
class ChildGrows:
    """The memory that only a child process has grows from ``first`` to ``last`` bytes."""

    name: str
    rate: float
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class NotFreed:
    """Objects that should have been freed were alive after a collection."""

    type: str
    alive: int
    why: str
    generations: int


@dataclass(frozen=True, slots=True)
class FreedInCycles:
    """Collections freed instances of a type, and bytes, that only cycles kept alive."""

    type: str
    freed: int
    bytes: int
    collections: int


@dataclass(frozen=True, slots=True)
class LeftInCycles:
    """At the last look only cycles kept instances of a type alive, with bytes that are theirs."""

    type: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class WaitingGarbage:
    """Memory fell by ``freed`` bytes to ``left`` as the collector came in some generations."""

    metric: str
    generations: int
    freed: float
    left: float


@dataclass(frozen=True, slots=True)
class SameData:
    """The same data is in memory several times, unchanged since a generation."""

    times: int
    since: int
    bytes: int
    spare: int
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BriefPeak:
    """A phase briefly takes ``over`` bytes more; the highest peak was that of ``worst``.

    ``phase`` is None for whole generations; ``high`` of ``generations`` had such a peak.
    """

    phase: str | None
    over: float
    high: int
    generations: int
    before: float
    top: float
    worst: int


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Live memory grows by more than all other findings explain."""

    metric: str
    growth: float
    explained: float


@dataclass(frozen=True, slots=True)
class Allocators:
    """What each allocator gains, in bytes, by its metric."""

    rates: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class TypesRose:
    """Types outside the findings that gained most bytes, with their rates."""

    rates: tuple[tuple[str, float], ...]


#: A literal stands for growth of which no number is told.
Measured: TypeAlias = (
    CountGrows | CountShare | MetricGrows | GrowsInPools | PagesCopied | HeldFree | MoreFrozen |
    MemoryToo | MemoryGrew | MetricToo | NotAsExpected | ContainerGrows | GrewAtLooks |
    GainedEntries |
    KeptOfGenerations | GrewInOnePiece | KeptOfRounds | GraphKept | BehindExtension | GaugeGrows |
    ChildGrows | NotFreed | FreedInCycles | LeftInCycles | WaitingGarbage | SameData | BriefPeak |
    Unexplained | Allocators | TypesRose | Literal["live memory too", "sizes too", "piled up"]
)  # fmt: skip
