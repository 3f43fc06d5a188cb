"""What to change, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from leakguard.model import Holder
from leakguard.model.holder import Hop

#: The name of an advice that has no number in it. For most numbers of a process it is the name of
#: the metric.
Advice: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Remedy:
    """The fix for objects of a type with this holder."""

    type: str
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Extended:
    """The fix for one object of a type that is extended."""

    type: str
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """The fix for one object that should have been released by this holder."""

    type: str
    holder: Holder


@dataclass(frozen=True, slots=True)
class MemoryBehind:
    """The fix for objects that keep memory of their library, as well as the objects."""

    type: str
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class BoundGauge:
    """The fix for a gauge that grows."""

    name: str


@dataclass(frozen=True, slots=True)
class BreakCycle:
    """The fix for garbage in a cycle; ``way`` leads from an instance back to itself."""

    way: tuple[Hop, ...]
    is_collector_off: bool


@dataclass(frozen=True, slots=True)
class FindRest:
    """What to do about growth that nothing explains, in a phase if that is known."""

    phase: str | None


Fix: TypeAlias = (
    Advice | Remedy | Extended | Release | MemoryBehind | BoundGauge | BreakCycle | FindRest
)  # fmt: skip
