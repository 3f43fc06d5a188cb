"""The record of births of an attached process, as the run of a guard asks its own."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.capture.births import Survivors
from leakguard.capture.probe import Unavailable
from leakguard.launch.attach.attachment import Attachment
from leakguard.model import Births


@dataclass(slots=True)
class RemoteBirths:
    """Records births in the target until it is left; ``BirthRecord`` explains the attributes.

    They are read in copies of the target, and a look at holders reads the survivors by itself.
    """

    session: Attachment
    problem: str | None = None
    native_problem: str | None = None
    running: bool = False

    def start(self) -> None:
        """Begin to record; if that is impossible, set ``problem`` to the reason."""
        self.problem = self.session.record_births()
        self.running = self.problem is None

    def stop(self) -> None:
        """Do nothing: the record ends when the target is left."""

    def check(self) -> None:
        """Do nothing: ``mark`` has the target check its record."""

    def mark(self, generation: int, phase: str) -> None:
        """Set the round, counted from 0, that births belong to from now on."""
        if self.running:
            self.problem, self.native_problem = self.session.begin_round(generation)
            self.running = self.problem is None

    def cohorts(self, rounds: int) -> Births | None:
        """Return what is alive, by line and round of birth; None if that is unknown."""
        if not self.running:
            return None
        try:
            return self.session.ask("births", Births, rounds=rounds)
        except Unavailable as reason:
            self.problem = str(reason)
            return None

    def survivors(self, rounds: int) -> Survivors | None:
        """Return None: survivors are found in a copy of the target."""
        return None
