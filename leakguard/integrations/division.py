"""Divides rounds that last long: how many steps of an epoch are one generation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from leakguard.capture.run_queue import program_clock

#: A round that lasts longer than this many seconds is divided. Chosen: a minute of shorter rounds
#: gives thirty generations, which are enough to judge.
LONG_SECONDS = 2.0
#: The seconds that one part of a divided round should take. Chosen: reading the metrics after a
#: generation takes 0.3 to 2 ms, at most half a percent of this.
PART_SECONDS = 0.4
#: After this many parts of one size, the size is doubled, so that a round of ten hours has about
#: 3,000 parts and not 90,000. Chosen.
PARTS_OF_A_SIZE = 300
#: After this many parts of one size, the size is raised if the parts take less than half of
#: ``PART_SECONDS``: it was derived from steps that were unusually slow. Chosen, low.
_TOO_SOON = 8


@dataclass(slots=True)
class Division:
    """Decides before each step whether the generation ends there.

    A round is one generation until it has lasted ``LONG_SECONDS``. From then on, and in all later
    rounds, a generation is ``size`` steps. The parts of a round of known length are of equal size
    as far as possible, so that none is much shorter than the others.

    Attributes:
        unit: the steps of a part when the first round was divided; None while none was. Larger
            parts are counted as several generations of this size.
    """

    clock: Callable[[], float] = program_clock
    wall: Callable[[], float] = time.perf_counter
    unit: int | None = None
    _size: int = 0
    _part: int = 0
    _steps: int = 0
    _is_due: bool = False
    _began: float = 0.0
    _began_at: float = 0.0
    _of_this_size: int = 0
    _spent: float = 0.0

    @property
    def taken(self) -> int:
        """How many generations of the size ``unit`` the next part stands for."""
        return 1 if self.unit is None else max(round(self._part / self.unit), 1)

    def begin(self, left: int | None = None) -> None:
        """Note that a generation begins, with ``left`` steps to the end of its round, if known."""
        self._began, self._began_at = self.clock(), self.wall()
        # The step before which a generation ends is the first of the next.
        self._steps, self._is_due = int(self._is_due), False
        if self._size:
            self._part = self._size
            if left is not None and left > 0:
                self._part = math.ceil(left / max(round(left / self._size), 1))

    def step(self) -> bool:
        """Record that a step begins; return whether the generation ends before it."""
        due = self._is_long() if self.unit is None else self._steps >= self._part
        if due and self.unit is not None:
            self._check_size(self.clock() - self._began)
        self._steps += 1
        self._is_due = due
        return due

    def _is_long(self) -> bool:
        """Divide from now on if the generation has lasted long.

        Each step of a short round asks this, so the slower clock is read only when it may be time.
        """
        if not self._steps or self.wall() - self._began_at < LONG_SECONDS:
            return False
        lasted = self.clock() - self._began
        if lasted < LONG_SECONDS:  # other programs had the processor
            return False
        self.unit = self._size = max(round(self._steps * PART_SECONDS / lasted), 1)
        return True

    def _check_size(self, seconds: float) -> None:
        """Make the next parts larger if they are too short, or if there were many of this size."""
        self._of_this_size, self._spent = self._of_this_size + 1, self._spent + seconds
        each = self._spent / self._of_this_size
        if self._of_this_size >= _TOO_SOON and each < PART_SECONDS / 2:
            self._resize(self._size * 2 ** math.ceil(math.log2(PART_SECONDS / max(each, 1e-6))))
        elif self._of_this_size >= PARTS_OF_A_SIZE:
            self._resize(2 * self._size)

    def _resize(self, size: int) -> None:
        self._size, self._of_this_size, self._spent = size, 0, 0.0
