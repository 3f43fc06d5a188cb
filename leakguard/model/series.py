"""One number, followed over the generations of a run."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.metric import Unit


@dataclass(frozen=True, slots=True)
class Series:
    """A number at the same point of each generation.

    Attributes:
        name: metric name or qualified type name.
        generations: the generations that have a value, in order.
        values: one value for each of them.
        baseline: the value before the first generation, None when unknown.
        phase: the phase at whose end the number was read; None for the generation's end.
    """

    name: str
    unit: Unit
    generations: tuple[int, ...]
    values: tuple[float, ...]
    baseline: float | None = None
    phase: str | None = None

    @property
    def by_generation(self) -> dict[int, float]:
        """The values by their generation."""
        return dict(zip(self.generations, self.values, strict=True))

    def __len__(self) -> int:
        return len(self.values)
