"""The time of the program alone: without what the guard does where generations begin and end."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TypeVar

T = TypeVar("T")


class OwnClock:
    """A clock that stands still while the guard works.

    A loop that was looked at must not seem longer than a loop that comes after it. If the guard
    works in several threads at the same time, that time counts once.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` returns the time with the guard's work, in seconds."""
        self._clock = clock
        # When the guard began to work, or None, and the seconds of its work before; read together.
        self._stands: tuple[float | None, float] = (None, 0.0)
        # Threads in which the guard works. There is no lock: a signal handler may come in between,
        # and a forked child would wait for a lock that another thread held.
        self._working: set[int] = set()

    def __call__(self) -> float:
        """Return the time of the program alone, in seconds."""
        since, spent = self._stands
        return (self._clock() if since is None else since) - spent

    def apart(self, work: Callable[[], T]) -> T:
        """Do something that takes no time of the program's own."""
        thread = get_ident()
        if thread in self._working:
            return work()
        if not self._working:
            self._stands = self._clock(), self._stands[1]
        self._working.add(thread)
        try:
            return work()
        finally:
            self._working.discard(thread)
            since, spent = self._stands
            if not self._working and since is not None:
                self._stands = None, spent + self._clock() - since
