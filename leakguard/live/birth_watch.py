"""The record of births of one run: told where the loop is, and asked at few moments."""

from __future__ import annotations

import os
from dataclasses import dataclass

from leakguard.capture.births import BirthRecord, Survivors
from leakguard.live.safety import Safety
from leakguard.model import Births
from leakguard.model.residue import residue

_BEFORE_THE_LOOP = -1


def births_are_wanted() -> bool:
    """Return whether births are recorded: ``LEAKGUARD_BIRTHS=0`` in the environment forbids it."""
    return os.environ.get("LEAKGUARD_BIRTHS", "").strip().lower() not in ("0", "off", "false", "no")


@dataclass(slots=True)
class BirthWatch:
    """Follows the loop with a record of births; without a ``record`` it does nothing.

    What is alive is asked at the end of the generations 1, 2, 4, 8 and so on, of the last one, and
    of the run: a residue that doubles is seen to, and a long run asks few times.
    """

    record: BirthRecord | None = None
    safety: Safety | None = None
    _round: int = _BEFORE_THE_LOOP
    _phase: str = ""
    _said: str | None = None
    _leaves: bool = False

    def start(self) -> None:
        """Begin the record; where that cannot be, the next snapshot says why."""
        if self.record is not None:
            self.record.start()
            self._say()

    def stop(self) -> None:
        """End the record."""
        if self.record is not None:
            self.record.stop()

    def is_recording(self) -> bool:
        """Return whether births are recorded now."""
        return self.record is not None and self.record.running

    def leave_residue(self) -> bool:
        """Return whether, when last asked, each round had left as much behind at some line."""
        return self._leaves

    def begin_round(self, round_: int) -> None:
        """Take that a generation begins, counted from 0."""
        if self.record is not None:
            self._round = round_
            self.record.check()
            self.record.mark(round_, self._phase)
            self._say()

    def enter_phase(self, path: str) -> str:
        """Take that a phase begins; return the one around it, for ``leave_phase``."""
        outer = self._phase
        self._mark(path)
        return outer

    def leave_phase(self, outer: str) -> None:
        """Take that a phase has ended."""
        self._mark(outer)

    def _mark(self, phase: str) -> None:
        if self.record is not None:
            self._phase = phase
            self.record.mark(self._round, phase)

    def at_round_end(self, *, last: bool) -> Births | None:
        """Return what is alive where a generation ends that is one of those to ask at."""
        rounds = self._round + 1
        return self.at_end() if last or rounds & (rounds - 1) == 0 else None

    def at_end(self) -> Births | None:
        """Return what is alive now; None without a record."""
        rounds = self._round + 1
        births = None if self.record is None else self.record.cohorts(rounds)
        left = () if births is None else (residue((place,), rounds) for place in births.places)
        self._leaves = any(found is not None and found.steady for found in left)
        return births

    def survivors(self) -> Survivors | None:
        """Return the sampled blocks that are alive, for a look in a copy; None without a record."""
        return None if self.record is None else self.record.survivors(self._round + 1)

    def _say(self) -> None:
        """Note once why something is not recorded."""
        record, safety = self.record, self.safety
        if record is None or safety is None:
            return
        problem = record.problem or record.native_problem
        if problem is not None and problem != self._said:
            self._said = problem
            safety.note("births", problem)
