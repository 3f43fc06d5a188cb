"""Why no line is named that made the objects of a finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class NotInTrace:
    """No line of a traced generation allocated as much; ``cut`` if the trace took too long."""

    generation: int
    cut: bool


@dataclass(frozen=True, slots=True)
class TooFewBirths:
    """One allocation in ``interval`` bytes was sampled, and too few of them belong to the growth.

    ``held`` is whether the finding has a holder.
    """

    interval: float
    held: bool


@dataclass(frozen=True, slots=True)
class TooFewCounts:
    """Objects were counted too seldom, before the last generation, to decide what to trace."""

    counted: int
    generations: int


NoLine: TypeAlias = (
    NotInTrace | TooFewBirths | TooFewCounts | Literal["observed outside", "ended early"]
)
