"""Why a series of numbers grows, as values."""

from __future__ import annotations

from typing import Literal, NamedTuple

# What growth beats: the benign explanations of a series.
Benign = Literal["wandering", "step", "two steps", "fill", "saturation"]


class Reason(NamedTuple):
    """A part of the reason for growth: what was seen, with its numbers.

    Attributes:
        seen: what was seen: growth itself, or what lies around it.
        sizes: numbers in the series' unit.
        counts: numbers without a unit: samples, and generations.
        than: the benign explanation that came closest; None if none was scored.
    """

    seen: Literal[
        "exact line", "line", "ever faster", "even rises",
        "after set-up", "after teeth", "floors of teeth", "beside jumps", "staircase",
    ]  # fmt: skip
    sizes: tuple[float, ...] = ()
    counts: tuple[float, ...] = ()
    than: Benign | None = None
