"""What an instrument measured: one class for each kind of evidence."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from leakguard.analysis.facts.reason import Reason
from leakguard.model.metric import Unit


class CountGrows(Struct, frozen=True):
    """The count of a type grows at ``rate``."""

    rate: float


class CountShare(Struct, frozen=True):
    """What the count of a type gains goes into one container at ``rate``."""

    rate: float


class MetricGrows(Struct, frozen=True):
    """A number of the process grows; ``why`` is how its series shows it."""

    metric: str
    unit: Unit
    rate: float
    interval: tuple[float, float]
    why: tuple[Reason, ...]


class GrowsInPools(Struct, frozen=True):
    """Live memory grows in the small-object allocator, and in no reachable object."""

    memory: MetricGrows


class PagesCopied(Struct, frozen=True):
    """Private memory grows beside an ``rss`` that stays, in bytes; None if that is unknown."""

    private: MetricGrows
    rss: float | None


class HeldFree(Struct, frozen=True):
    """The C allocator keeps ``rate`` more bytes free, ``held`` by now, beside live memory."""

    rate: float
    held: float
    live: float | None


class MoreFrozen(Struct, frozen=True):
    """``gc.freeze`` hides ``rate`` more objects, ``frozen`` by now."""

    rate: float
    frozen: float


class MemoryToo(Struct, frozen=True):
    """A memory measure grows beside a type; ``in_phase`` if it does so in the same phase."""

    metric: str
    in_phase: bool


class MemoryGrew(Struct, frozen=True):
    """A memory measure grew beside a container."""

    metric: str


class MetricToo(Struct, frozen=True):
    """Another number of the process grows, too."""

    metric: str


class NotAsExpected(Struct, frozen=True):
    """There are ``alive`` instances where the user expects another number."""

    expected: tuple[int, int]
    alive: int


class ContainerGrows(Struct, frozen=True):
    """A container gains entries at ``rate``; its bound, if it has one, does not help."""

    path: str
    rate: float
    keeps_graphs: bool
    is_bounded: bool


class GrewAtLooks(Struct, frozen=True):
    """A container grew at each of some consecutive looks."""

    path: str
    looks: int
    bytes_rate: float


class GainedEntries(Struct, frozen=True):
    """A container that one look saw has more entries than were counted at first."""

    path: str
    rate: float


class KeptOfGenerations(Struct, frozen=True):
    """A container keeps as much of what each generation has made, by samples of births."""

    path: str
    since: int
    samples: int


class LeftOfGenerations(Struct, frozen=True):
    """A line left as much of each generation, in no holder, by samples of births."""

    line: str
    since: int
    samples: int


class GrewInOnePiece(Struct, frozen=True):
    """A buffer was larger at each of some looks, by samples of births."""

    path: str
    looks: int


class KeepsAsMuch(Struct, frozen=True):
    """A container keeps about as much, ``bytes``, as memory gained; the loop made it."""

    path: str
    bytes: int


class KeptOfRounds(Struct, frozen=True):
    """A container keeps about as much of what each round of a level has made."""

    path: str
    level: str
    kept: int
    rounds: int


class GraphKept(Struct, frozen=True):
    """Holders keep a backward graph; ``more`` nodes of such graphs came since a generation."""

    holders: tuple[str, ...]
    nodes: int
    more: int
    since: int


class BehindExtension(Struct, frozen=True):
    """Memory in no counted object grows while these objects of an extension are kept."""

    metric: str
    rate: float


class GaugeGrows(Struct, frozen=True):
    """A gauge grows past ``capacity``; None if it has none, or is not past it."""

    name: str
    rate: float
    capacity: float | None


class ChildGrows(Struct, frozen=True):
    """The memory that only a child process has grows from ``first`` to ``last`` bytes."""

    name: str
    rate: float
    first: float
    last: float


class NotFreed(Struct, frozen=True):
    """Objects that should have been freed were alive after a collection."""

    type: str
    alive: int
    why: str
    generations: int


class FreedInCycles(Struct, frozen=True):
    """Collections freed instances of a type, and bytes, that only cycles kept alive."""

    type: str
    freed: int
    bytes: int
    collections: int


class LeftInCycles(Struct, frozen=True):
    """At the last look only cycles kept instances of a type alive, with bytes that are theirs."""

    type: str
    count: int
    bytes: int


class WaitingGarbage(Struct, frozen=True):
    """Memory fell by ``freed`` bytes to ``left`` as the collector came in some generations."""

    metric: str
    generations: int
    freed: float
    left: float


class SameData(Struct, frozen=True):
    """The same data is in memory several times, unchanged since a generation."""

    times: int
    since: int
    bytes: int
    spare: int
    holders: tuple[str, ...]


class BriefPeak(Struct, frozen=True):
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


class Unexplained(Struct, frozen=True):
    """Live memory grows by more than all other findings explain."""

    metric: str
    growth: float
    explained: float


class Allocators(Struct, frozen=True):
    """What each allocator gains, in bytes, by its metric."""

    rates: tuple[tuple[str, float], ...]


class TypesRose(Struct, frozen=True):
    """Types outside the findings that gained most bytes, with their rates."""

    rates: tuple[tuple[str, float], ...]


#: A literal stands for growth of which no number is told.
Measured: TypeAlias = (
    CountGrows | CountShare | MetricGrows | GrowsInPools | PagesCopied | HeldFree | MoreFrozen |
    MemoryToo | MemoryGrew | MetricToo | NotAsExpected | ContainerGrows | GrewAtLooks |
    GainedEntries |
    KeptOfGenerations | LeftOfGenerations | GrewInOnePiece | KeepsAsMuch | KeptOfRounds |
    GraphKept |
    BehindExtension | GaugeGrows |
    ChildGrows | NotFreed | FreedInCycles | LeftInCycles | WaitingGarbage | SameData | BriefPeak |
    Unexplained | Allocators | TypesRose | Literal["live memory too", "sizes too", "piled up"]
)  # fmt: skip
