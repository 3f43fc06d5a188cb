"""The level of a loop at which memory grows: within an epoch, from epoch to epoch, and so on."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.snapshot import EVALUATIONS
from leakguard.model.units import format_change

#: The lowest level: the steps, or groups of steps, that are the generations of a run.
STEP = "step"


@dataclass(frozen=True, slots=True)
class Level:
    """At which rounds a defect adds what it adds, if generations are parts of larger rounds.

    Attributes:
        name: ``step`` for growth that goes on within the larger rounds, else the noun of a round
            that adds it: ``epoch``, ``rollout``, ``validation``, ``evaluation``.
        within: the noun of the larger rounds around the steps; None if there are none.
        rounds: how many rounds of this level the run had.
        bytes_per_round: bytes that each of these rounds adds; None for steps, and if unknown.
    """

    name: str
    within: str | None = None
    rounds: int = 0
    bytes_per_round: float | None = None

    @property
    def words(self) -> str:
        """The level in words: ``from epoch to epoch, +5.1 MB each``."""
        if self.name == STEP:
            return "from step to step" if self.within is None else f"within the {self.within}"
        if self.name not in EVALUATIONS.values():
            when = f"from {self.name} to {self.name}"
        elif self.rounds > 1:
            when = f"at each {self.name}"
        else:
            return f"within the {self.name}"
        each = self.bytes_per_round
        return when if each is None else f"{when}, {format_change(each)} each"
