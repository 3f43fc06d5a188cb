"""Growth that is no leak, with the reason as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from leakguard.analysis.facts.measured import MetricGrows
from leakguard.analysis.knowledge.handles import NativeCache
from leakguard.model.finding import Pattern


@dataclass(frozen=True, slots=True)
class Filled:
    """A gauge or a container has filled so much of its bound."""

    filled: float
    is_gauge: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The growth was last seen in a generation, and stopped then."""

    last: int


@dataclass(frozen=True, slots=True)
class HeldMore:
    """A container holds ``gained`` more since a generation, too few to tell whether it goes on."""

    gained: int
    since: int
    bytes: float
    held_by: str


@dataclass(frozen=True, slots=True)
class FewBytes:
    """Objects gain only ``rate`` bytes per generation."""

    rate: float


@dataclass(frozen=True, slots=True)
class LittleMemory:
    """Live memory gains ``rate`` bytes that are too few to be inspected."""

    rate: float
    so_far: float
    daily: float | None


@dataclass(frozen=True, slots=True)
class LittleOfMetric:
    """A number of the process grows by too little to matter."""

    grows: MetricGrows
    daily: float | None


@dataclass(frozen=True, slots=True)
class FirstTouched:
    """Pages of a mapping that exists are touched for the first time."""

    grows: MetricGrows


@dataclass(frozen=True, slots=True)
class WhileFilling:
    """Live memory grows while gauges fill."""

    rate: float
    gauges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FitsCaches:
    """Live memory grew by no more than fits into caches; of each cache there are so many."""

    rate: float
    filled: float
    caches: tuple[tuple[int, NativeCache], ...]


@dataclass(frozen=True, slots=True)
class LevelledOff:
    """Live memory rose by ``rose`` bytes in some generations and no longer rises."""

    rose: float
    generations: int


@dataclass(frozen=True, slots=True)
class CycleCost:
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
    WhileFilling | FitsCaches | LevelledOff | CycleCost
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
