"""What the guard itself costs: seconds of its own work, and those of the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds for which a reading of the run queue is reused. Several are needed at each generation's
# end, and each takes 20 µs.
_FRESH = 2e-3


class CostMeter:
    """Counts the seconds of the guard's work, even if the work fails.

    ``clock`` measures the run. ``own_clock`` charges the guard: CPU seconds of its thread, so that
    a look on a busy machine does not seem expensive. ``queued`` is the time in which the program
    could run but had no processor; it is not the program's own.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        own_clock: Callable[[], float] | None = None,
        queued: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._clock = _steady(clock)
        self._own_clock = _steady(own_clock or clock)
        self._queued = _steady(queued)
        self._start, self._queued_before = self._clock(), self._queued()
        self._waited, self._waited_at = 0.0, self._start
        self._spent = 0.0
        self._since: float | None = None

    @property
    def spent(self) -> float:
        """Seconds that the guard has cost so far, work in progress included."""
        return self._spent + (0.0 if self._since is None else self._own_clock() - self._since)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._start

    @property
    def program(self) -> float:
        """Seconds of the run, without the guard's."""
        return max(self.elapsed - self.spent, 0.0)

    @property
    def program_worked(self) -> float:
        """Seconds in which the program itself ran, or waited for what it had asked for.

        Time that other programs took is left out, as in ``spent``: a machine with ten times its
        load makes a run ten times as long, but not its work.
        """
        now = self._clock()
        if not self._waited_at <= now < self._waited_at + _FRESH:
            self._waited, self._waited_at = self._queued() - self._queued_before, now
        return max(self.program - self._waited, 0.0)

    def charged(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work`` and charge its time to the guard; nested work is not charged twice.

        The charge ends before any further call: an interrupt may come after each call, and from
        then on all of the program's time would be charged.
        """
        if self._since is not None:
            return work(*args)
        try:
            self._since = self._own_clock()
            return work(*args)
        finally:
            since, self._since = self._since, None
            if since is not None:
                self._spent += self._own_clock() - since


def _steady(clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that keeps its last value while ``clock`` is not finite, as files need."""
    last = 0.0

    def read() -> float:
        nonlocal last
        now = clock()
        last = now if math.isfinite(now) else last
        return last

    return read
