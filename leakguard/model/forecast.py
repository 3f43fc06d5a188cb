"""Predicts when growing memory reaches its limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forecast:
    """The generation in which RSS reaches the memory limit if it keeps growing at the same rate.

    Attributes:
        rate: growth in bytes per generation.
        used: RSS of the latest snapshot, in bytes.
        limit: what the process may use: the cgroup's limit or the machine's memory, in bytes.
        generation: the first generation at whose end the limit is reached.
        between: (earliest, latest) generation, from the confidence interval of the rate. The latest
            is None if the interval includes no growth. None if no interval is known.
        seconds: seconds from the latest snapshot until the limit is reached; None if generations
            were not timed.
    """

    rate: float
    used: int
    limit: int
    generation: int
    between: tuple[int, int | None] | None = None
    seconds: float | None = None
