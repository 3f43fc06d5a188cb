"""Why no line is named that made the objects of a finding."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct


class NotInTrace(Struct, frozen=True):
    """No line of a traced generation allocated as much; ``cut`` if the trace took too long."""

    generation: int
    cut: bool


class TooFewBirths(Struct, frozen=True):
    """One allocation in ``interval`` bytes was sampled, and too few of them belong to the growth.

    ``held`` is whether the finding has a holder.
    """

    interval: float
    held: bool


class TooFewCounts(Struct, frozen=True):
    """Objects were counted too seldom, before the last generation, to decide what to trace."""

    counted: int
    generations: int


NoLine: TypeAlias = (
    NotInTrace | TooFewBirths | TooFewCounts | Literal["observed outside", "ended early"]
)
