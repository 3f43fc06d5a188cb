"""Keeps the guard's own cost under a share of the run's wall time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Of what it may cost: the guard's clock does not see that caches are cold after a look, nor the
# diagnosis at the end of the run, which is still to come. Measured, a guard that had spent 0.65 %
# by its own clock cost 1.1 % (reports/overhead).
_AIM = 0.6


class Governor:
    """Decides which generations are looked at in depth.

    The first ``floor`` generations always are, so that short runs get an answer too. After that a
    generation is due when looking, at the price of the dearest look so far, would keep everything
    spent so far under three fifths of ``max_overhead`` of the program's own wall time. What a cheap
    look leaves of that price is not lost: it serves the next one.
    """

    def __init__(
        self, max_overhead: float | None, clock: Callable[[], float], floor: int = 8
    ) -> None:
        """``max_overhead`` is a share of wall time (0.01 is 1 %); None looks every time."""
        self._share = max_overhead
        self._clock = clock
        self._floor = floor
        self._start = clock()
        self._looks = 0
        self._price = 0.0
        self._spent = 0.0
        self._at_work_since: float | None = None

    @property
    def spares_nothing(self) -> bool:
        """True where there is no limit: every generation and each of its phases is looked at."""
        return self._share is None

    def due(self) -> bool:
        """Return whether the generation that begins now is looked at in depth."""
        if self._share is None or self._looks < self._floor:
            return True
        own_time = self._clock() - self._start - self.spent
        return self.spent + self._price <= _AIM * self._share * own_time

    @property
    def spent(self) -> float:
        """Seconds that the guard has cost so far, the work that is going on included."""
        since = self._at_work_since
        return self._spent + (0.0 if since is None else self._clock() - since)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Charge the guard with the time until the end of the block; blocks inside are free."""
        if self._at_work_since is not None:
            yield
            return
        self._at_work_since = self._clock()
        try:
            yield
        finally:
            self._spent, self._at_work_since = self.spent, None

    def looked(self, seconds: float) -> None:
        """Note that one generation was looked at in depth for ``seconds`` in all."""
        self._looks += 1
        self.priced(seconds)

    def priced(self, seconds: float) -> None:
        """Note what a look may cost."""
        self._price = max(seconds, self._price)
