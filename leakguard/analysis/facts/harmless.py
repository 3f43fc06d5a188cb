"""Growth that is no leak, with the reason as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Struct

from leakguard.analysis.facts.measured import MetricGrows
from leakguard.analysis.knowledge.handles import NativeCache
from leakguard.model.finding import Pattern


class Filled(Struct, frozen=True):
    """A gauge or a container has filled so much of its bound."""

    filled: float
    is_gauge: bool = False


class Ended(Struct, frozen=True):
    """The growth was last seen in a generation, and stopped then."""

    last: int


class HeldMore(Struct, frozen=True):
    """A container holds ``gained`` more since a generation, too few to tell whether it goes on."""

    gained: int
    since: int
    bytes: float
    held_by: str


class FewBytes(Struct, frozen=True):
    """Objects gain only ``rate`` bytes per generation."""

    rate: float


class LittleMemory(Struct, frozen=True):
    """Live memory gains ``rate`` bytes that are too few to be inspected."""

    rate: float
    so_far: float
    daily: float | None


class LittleOfMetric(Struct, frozen=True):
    """A number of the process grows by too little to matter."""

    grows: MetricGrows
    daily: float | None


class FirstTouched(Struct, frozen=True):
    """Pages of a mapping that exists are touched for the first time."""

    grows: MetricGrows


class ReserveOfAllocator(Struct, frozen=True):
    """The allocator keeps ``held`` freed bytes, which are little beside those in use."""

    grows: MetricGrows
    held: float
    in_use: float


class WhileFilling(Struct, frozen=True):
    """Live memory grows while gauges fill."""

    rate: float
    gauges: tuple[str, ...]


class FitsCaches(Struct, frozen=True):
    """Live memory grew by no more than fits into caches; of each cache there are so many."""

    rate: float
    filled: float
    caches: tuple[tuple[int, NativeCache], ...]


class LevelledOff(Struct, frozen=True):
    """Live memory rose by ``rose`` bytes in some generations and no longer rises."""

    rose: float
    generations: int


class CycleCost(Struct, frozen=True):
    """The program's collector frees garbage of a type, ``most`` objects of it at a time.

    ``most`` is None if the count did not show it. ``collections`` is how often the program's own
    collector ran; None if it ran too seldom to call it a mere cost.
    """

    type: str
    freed: int
    at_once: int
    most: float | None
    collections: int | None


Why: TypeAlias = (
    Filled | Ended | HeldMore | FewBytes | LittleMemory | LittleOfMetric | FirstTouched |
    ReserveOfAllocator | WhileFilling | FitsCaches | LevelledOff | CycleCost
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Harmless:
    """Growth that is not a leak; ``leakguard.model.Cleared`` explains the fields."""

    metric: str
    pattern: Pattern
    why: Why
    plateau: float | None = None
    until: int | None = None
    bytes_per_generation: float | None = None
