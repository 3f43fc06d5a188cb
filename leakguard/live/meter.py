"""What the guard costs: the seconds of its own work, and the seconds of the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds for which a reading of the run queue is reused. Several readings are needed at each
# generation's end, and each takes 20 µs.
_FRESH = 2e-3


class CostMeter:
    """Counts the seconds of the guard's work, even if the work fails.

    ``clock`` measures the run. ``own_clock`` measures the guard's own cost: CPU seconds of its
    thread, so that a look on a busy machine does not seem expensive. ``queued`` returns the seconds
    in which the program could run but had no processor; they do not count as the program's own.
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
        """Seconds that the guard has cost so far, including work in progress."""
        return self._spent + (0.0 if self._since is None else self._own_clock() - self._since)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._start

    @property
    def program(self) -> float:
        """Seconds of the run without the guard's own work."""
        return max(self.elapsed - self.spent, 0.0)

    @property
    def program_worked(self) -> float:
        """Seconds in which the program itself ran, or waited for something that it had requested.

        Time that other programs took is excluded, as in ``spent``: a machine with ten times its
        load makes a run ten times as long, but not its work.
        """
        now = self._clock()
        if not self._waited_at <= now < self._waited_at + _FRESH:
            self._waited, self._waited_at = self._queued() - self._queued_before, now
        return max(self.program - self._waited, 0.0)

    def charged(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work`` and count its time as the guard's; nested work is not counted twice.

        Counting ends before any further call: an interrupt may come after each call, and would
        leave the counting on for the program's time.
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
    """Return a clock that is always finite: it repeats its last finite value, as files need."""
    last = 0.0

    def read() -> float:
        nonlocal last
        now = clock()
        last = now if math.isfinite(now) else last
        return last

    return read
