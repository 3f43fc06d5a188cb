"""The birth record of one run: it is told the current generation and phase, and read rarely."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Protocol

from leakguard.capture.births import Survivors
from leakguard.live.safety import Safety
from leakguard.model import Births
from leakguard.model.residue import residue

_BEFORE_THE_LOOP = -1


def births_are_wanted() -> bool:
    """Return whether births are recorded; ``LEAKGUARD_BIRTHS=0`` in the environment disables it."""
    return os.environ.get("LEAKGUARD_BIRTHS", "").strip().lower() not in ("0", "off", "false", "no")


class RecordOfBirths(Protocol):
    """A record of births: ``capture.births.BirthRecord``, or that of an attached process."""

    problem: str | None
    native_problem: str | None

    @property
    def running(self) -> bool: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def check(self) -> None: ...
    def mark(self, generation: int, phase: str) -> None: ...
    def cohorts(self, rounds: int) -> Births | None: ...
    def survivors(self, rounds: int) -> Survivors | None: ...


@dataclass(slots=True)
class BirthWatch:
    """Keeps a birth record informed of the loop; without a ``record`` it does nothing.

    The survivors are read once 1, 2, 4, 8 and so on generations have ended, at the end of the last
    one, and of the run. Whether the residue doubles can then be seen, and a long run reads rarely.
    """

    record: RecordOfBirths | None = None
    safety: Safety | None = None
    _round: int = _BEFORE_THE_LOOP
    _phase: str = ""
    _said: str | None = None
    _left: float | None = None
    _due: int = 1

    def start(self) -> None:
        """Start the record; if that fails, the next snapshot has the reason."""
        if self.record is not None:
            self.record.start()
            self._say()

    def stop(self) -> None:
        """Stop the record."""
        if self.record is not None:
            self.record.stop()

    def is_recording(self) -> bool:
        """Return whether births are recorded now."""
        return self.record is not None and self.record.running

    def left_behind(self) -> float | None:
        """Return the bytes at the last reading of lines where each round has left as much.

        None as long as births were not read.
        """
        return self._left

    def begin_round(self, round_: int) -> None:
        """Note that a generation begins; ``round_`` counts all generations from 0."""
        if self.record is not None:
            self._round = round_
            self.record.check()
            self.record.mark(round_, self._phase)
            self._say()

    def begin_unmeasured(self, round_: int) -> None:
        """Note that a generation begins that is only counted."""
        self._round = round_
        self._mark(self._phase)

    def enter_phase(self, path: str) -> str:
        """Note that a phase begins; return the phase around it, for ``leave_phase``."""
        outer = self._phase
        self._mark(path)
        return outer

    def leave_phase(self, outer: str) -> None:
        """Note that a phase has ended."""
        self._mark(outer)

    def _mark(self, phase: str) -> None:
        if self.record is not None:
            self._phase = phase
            self.record.mark(self._round, phase)

    def at_round_end(self, rounds: int, *, last: bool) -> Births | None:
        """Return the births when so many generations have ended; None unless they are due."""
        if not last and rounds < self._due:
            return None
        self._due = 1 << rounds.bit_length()
        return self._live_births(rounds)

    def at_end(self) -> Births | None:
        """Return the births now; None without a record."""
        return self._live_births(self._round + 1)

    def _live_births(self, rounds: int) -> Births | None:
        births = None if self.record is None else self.record.cohorts(rounds)
        if births is not None:
            left = (residue((place,), rounds) for place in births.places)
            self._left = rounds * math.fsum(one.rate for one in left if one and one.steady)
        return births

    def survivors(self) -> Survivors | None:
        """Return the sampled live blocks, for a look in a copy; None without a record."""
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
