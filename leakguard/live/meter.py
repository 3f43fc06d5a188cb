"""What the guard itself costs: seconds of its own work, beside those of the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Seconds for which the time in the queue is not read anew: it is asked for several times at the end
# of a generation, and each reading takes 20 µs.
_FRESH = 2e-3


class CostMeter:
    """Counts the seconds that the guard works, whatever becomes of that work.

    ``clock`` tells how long the run lasts; ``own_clock`` charges the guard: CPU seconds of the
    thread that works, so that a busy machine does not make a look seem dear. ``queued`` tells for
    how long the program could have run and had no processor, which is no time of its own.
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
        """Seconds that the guard has cost so far, the work that is going on included."""
        return self._spent + (0.0 if self._since is None else self._own_clock() - self._since)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._start

    @property
    def program(self) -> float:
        """Seconds of the run that were not the guard's."""
        return max(self.elapsed - self.spent, 0.0)

    @property
    def program_worked(self) -> float:
        """Seconds of the run that were the program's own: it ran, or waited for what it asked.

        Like ``spent`` it leaves out what other programs take: a machine with ten times as much to
        do as it has processors makes a run ten times as long, and its work no more.
        """
        now = self._clock()
        if not self._waited_at <= now < self._waited_at + _FRESH:
            self._waited, self._waited_at = self._queued() - self._queued_before, now
        return max(self.program - self._waited, 0.0)

    def charged(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work`` and charge the guard with its time; what is run inside it is free.

        What ends the charge calls nothing before it has done so: an interrupt may come after any
        call, and all the program's time would be the guard's from then on.
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
    """Return the clock standing still while it says no finite number: no file holds another."""
    last = 0.0

    def read() -> float:
        nonlocal last
        now = clock()
        last = now if math.isfinite(now) else last
        return last

    return read
