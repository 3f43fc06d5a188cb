"""The guard's own work, done so that the watched program never notices more than its cost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from os import getpid  # the program may have put a double in its place

from leakguard.alarm import pass_on
from leakguard.capture.births import hush
from leakguard.capture.heap.collector import give_back_collector, run_held
from leakguard.capture.probe import reason_of
from leakguard.live.meter import CostMeter


class Safety:
    """Runs work for the guard: one thread at a time, charged, and never raising.

    What fails becomes a note in the next snapshot. An interrupt of the user's goes through, after
    the work has been left, and so does what a signal handler of the program raises. In a forked
    child nothing is done: the file belongs to the parent.
    """

    def __init__(self, meter: CostMeter) -> None:
        self._meter = meter
        self._pid = getpid()
        self._lock = threading.RLock()
        self._worker: int | None = None
        self._requested: list[Callable[[], object]] = []
        self._notes: dict[str, str] = {}
        self.over = False

    @property
    def watching(self) -> bool:
        """False once the run has ended, and in a forked child."""
        return not self.over and self.at_home

    @property
    def at_home(self) -> bool:
        """True in the process that began the run."""
        return getpid() == self._pid

    def run(self, work: Callable[..., object], *args: object) -> bool:
        """Run ``work`` unless the run has ended; return whether it went through.

        The collector is held back: what the guard allocates would set it off, and it would free
        the cycles that the program would have kept.
        """
        done = False
        if self.watching:
            try:
                with self._lock:
                    done = self._meter.charged(run_held, self._alone, work, args)
            except Exception as error:
                pass_on(error)
                self.note("guard", error)
            finally:  # who asks for the end of the process is heard, also where work is interrupted
                self._answer()
        return done

    def request(self, work: Callable[[], object]) -> None:
        """Run ``work`` now, or when the work of this thread is done, in whose middle this came."""
        if self._worker == threading.get_ident():
            self._requested.append(work)
        else:
            work()

    def note(self, about: str, problem: BaseException | str) -> None:
        """Keep a reason why something is not known, for the next snapshot."""
        self._notes[about] = problem if isinstance(problem, str) else reason_of(problem)

    def taken_notes(self) -> Mapping[str, str]:
        """Return the notes and forget them."""
        notes, self._notes = self._notes, {}
        return notes

    def _alone(self, work: Callable[..., object], args: tuple[object, ...]) -> bool:
        outer, me = self._worker, threading.get_ident()
        try:
            self._worker = me
            hush(True)
            work(*args)
        finally:
            self._worker = outer  # before any call, after which an interrupt may come
            hush(outer == me)
        return True

    def _answer(self) -> None:
        while self._worker is None and self._requested:
            self._requested.pop()()  # the latest first: it may be the end of the process


# A child that was forked during a look, by another thread or by a gauge, may never end that look.
os.register_at_fork(after_in_child=give_back_collector)
