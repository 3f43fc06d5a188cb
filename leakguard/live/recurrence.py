"""Generations of a loop that names phases only: one begins whenever its first phase comes again."""

from __future__ import annotations

import threading

from leakguard.live.phase_names import kind_of


class Recurrence:
    """Finds the phase that a loop begins with: the first one that comes a second time.

    Only outermost phases of the thread that entered the first one count, and only as long as the
    program names no generations itself.
    """

    def __init__(self) -> None:
        self.leader: str | None = None
        self._seen: set[str] = set()
        self._thread = 0
        self._over = False

    def begins(self, phase: str) -> bool:
        """Take that a phase begins; return whether a generation does."""
        if self._over or not self._is_followed():
            return False
        kind = kind_of(phase)
        if self.leader is None and kind in self._seen:
            self.leader = kind
        self._seen.add(kind)
        return kind == self.leader

    def stop(self) -> bool:
        """Take that the program names its generations; return whether some were found before."""
        self._over, led = True, self.leader is not None and not self._over
        return led

    def _is_followed(self) -> bool:
        self._thread = self._thread or threading.get_ident()
        return self._thread == threading.get_ident()
