"""What a program repeats: kinds of steps, such as optimizer steps or rounds of one of its loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """How well a kind of step shows where a generation begins; the lowest rank is the best."""

    NAMED = 0
    FRAMEWORK = 1
    OPTIMIZER = 2
    RESET = 3
    LOOP = 4
    BATCH = 5
    THREAD_LOOP = 6

    @property
    def is_loop(self) -> bool:
        """True for rounds of one loop, whose end is reported."""
        return self in (Rank.LOOP, Rank.THREAD_LOOP)


#: A step that takes at least this many seconds is a generation of its own; shorter steps are
#: grouped. Chosen: for optimizer steps, batches and episodes (``RESET``) the limit is high, because
#: consecutive steps always differ from one another. For rounds of a loop the limit is low, so that
#: a script of sixty rounds gets enough generations. Reading the metrics of a generation takes 0.3
#: to 2 ms (measured), less than half of this limit of 5 ms.
LONG_ENOUGH = {
    Rank.NAMED: 0.02,
    Rank.FRAMEWORK: 0.05,
    Rank.OPTIMIZER: 0.2,
    Rank.RESET: 0.2,
    Rank.LOOP: 0.005,
    Rank.BATCH: 0.2,
    Rank.THREAD_LOOP: 0.005,
}
# A kind of step is silent if its last report is longer ago than each of three times. Chosen.
# * ``_SILENT_STEPS`` mean durations of a step.
# * ``_SILENT_SHARE`` of the time between its first and its last report. A kind that is not counted
#   is reported ever more rarely: its next report comes after about a sixteenth of this time
#   (``choice._SHARE_UNSEEN``). The share is twice a sixteenth.
# * ``_SILENT_SECONDS`` seconds.
_SILENT_STEPS, _SILENT_SHARE, _SILENT_SECONDS = 2.0, 0.125, 0.5


@dataclass(slots=True, eq=False)
class StepSource:
    """One kind of step, such as optimizer steps; ``unit`` and ``detail`` describe it in words.

    ``begins`` is true if a step is reported when it begins; the last step is then complete when the
    program is over. An optimizer reports after its step. ``thread`` is the thread of the loop, or
    None for the main thread. ``since`` is how many generations there were before it. ``first`` and
    ``last`` are the times of the first and the last report. ``unseen`` steps may pass before the
    next report.
    """

    rank: Rank
    unit: str
    detail: str = ""
    begins: bool = True
    thread: int | None = None
    count: int = 0
    first: float = math.inf
    last: float = -math.inf
    since: int = 0
    unseen: int = 0

    def words(self, number: int) -> str:
        """Return so many of them in words: ``50 optimizer steps``."""
        plural = "" if number == 1 else "es" if self.unit.endswith("ch") else "s"
        return f"{number:,} {self.unit}{plural}{self.detail}"

    def saw(self, now: float, number: int = 1) -> None:
        """Record that ``number`` steps begin."""
        self.first, self.last = min(self.first, now), now
        self.count += number

    def period(self, now: float) -> float:
        """Return the mean seconds of a step if the next one begins now; infinite for the first."""
        return (now - self.first) / (self.count - 1) if self.count > 1 else math.inf

    def is_silent(self, now: float) -> bool:
        """Return whether the next step is overdue."""
        seen = self.last - self.first
        steps = _SILENT_STEPS * seen / (self.count - 1) if self.count > 1 else 0.0
        return now - self.last > max(_SILENT_SECONDS, _SILENT_SHARE * seen, steps)
