"""What to change, as a value."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from leakguard.model import Holder
from leakguard.model.holder import Hop

#: The name of an advice that has no number in it. For most numbers of a process it is the name of
#: the metric.
Advice: TypeAlias = str


class Remedy(Struct, frozen=True):
    """The fix for objects of a type with this holder."""

    type: str
    holder: Holder | None = None


class Extended(Struct, frozen=True):
    """The fix for one object of a type that is extended."""

    type: str
    holder: Holder | None = None


class Release(Struct, frozen=True):
    """The fix for one object that should have been released by this holder."""

    type: str
    holder: Holder


class MemoryBehind(Struct, frozen=True):
    """The fix for objects that keep memory of their library, as well as the objects."""

    type: str
    holder: Holder | None = None


class BoundGauge(Struct, frozen=True):
    """The fix for a gauge that grows."""

    name: str


class BreakCycle(Struct, frozen=True):
    """The fix for garbage in a cycle; ``way`` leads from an instance back to itself."""

    way: tuple[Hop, ...]
    is_collector_off: bool


class FindRest(Struct, frozen=True):
    """What to do about growth that nothing explains, in a phase if that is known."""

    phase: str | None


class LeftByLine(Struct, frozen=True):
    """What to do about blocks that a line of the program leaves, and that nothing known holds."""

    line: str


Fix: TypeAlias = (
    Advice | Remedy | Extended | Release | MemoryBehind | BoundGauge | BreakCycle | FindRest |
    LeftByLine
)  # fmt: skip
