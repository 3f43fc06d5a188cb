"""Why a run is undecided, and what it could not have detected."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from leakguard.model import Run


class TooFew(Struct, frozen=True):
    """The run has fewer generations than are needed; ``unmarked`` if the loop names none."""

    generations: int
    needed: int
    unmarked: bool


class MayLevelOff(Struct, frozen=True):
    """A number grows at ``rate`` and may level off; ``more`` generations would decide, if known."""

    metric: str
    rate: float
    more: int | None


class HandlesMayLevelOff(Struct, frozen=True):
    """Threads, files or processes rise in each generation of a short run."""

    metric: str
    rate: float
    more: int


class SlowRise(Struct, frozen=True):
    """Live memory rises by little in a generation and by much in a day; ``sure`` if it grows."""

    metric: str
    rate: float
    daily: float
    sure: bool


class RoseUnseen(Struct, frozen=True):
    """Live memory rose in generations of which only the last was measured."""

    metric: str
    rose: float
    generations: int


class RoseToTheEnd(Struct, frozen=True):
    """Live memory still rises where the file of an incomplete run ends."""

    metric: str
    rate: float
    since: int | None


Doubt: TypeAlias = TooFew | MayLevelOff | HandlesMayLevelOff | SlowRise | RoseUnseen | RoseToTheEnd


class Unseen(Struct, frozen=True):
    """What a run could not have detected.

    Attributes:
        run: the run.
        doubt: why it is undecided; None if it is decided.
        least: the metric of live memory, and the least growth of it that would be detected in bytes
            per generation; None if unknown.
        from_outside: whether only the memory of the process as a whole was recorded.
        counts_objects: whether objects of all types were counted.
        looked: the generations in which objects were counted.
        generations: how many generations there were.
    """

    run: Run
    doubt: Doubt | None
    least: tuple[str, float] | None
    from_outside: bool
    counts_objects: bool
    looked: tuple[int, ...]
    generations: int
