"""When growing memory reaches the limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Forecast:
    """The generation in which RSS reaches the memory limit if it goes on growing as it did.

    Attributes:
        rate: bytes more each generation.
        used: RSS of the latest snapshot.
        limit: what the process may use: the cgroup's limit or the machine's memory, in bytes.
        generation: the first generation at whose end the limit is reached.
        between: (earliest, latest) generation by the interval of the rate; the latest is None
            where the interval reaches down to no growth. None where no interval is known.
        seconds: from the latest snapshot until then; None where generations were not timed.
    """

    rate: float
    used: int
    limit: int
    generation: int
    between: tuple[int, int | None] | None = None
    seconds: float | None = None
