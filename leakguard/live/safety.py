"""Runs the guard's own work so that the program notices only its cost."""

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
    """Runs work for the guard: one thread at a time, measured as its cost, without exceptions.

    Errors become notes in the next snapshot. The user's interrupts, and exceptions from the
    program's own signal handlers, propagate after the work has been abandoned. A forked child does
    nothing: the file belongs to its parent.
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
        """Run ``work`` unless the run has ended; return whether it succeeded.

        Automatic garbage collection is suspended: the guard's allocations would trigger it, and it
        would free cycles that the program would have kept.
        """
        done = False
        if self.watching:
            try:
                with self._lock:
                    done = self._meter.charged(run_held, self._alone, work, args)
            except Exception as error:
                pass_on(error)
                self.note("guard", error)
            finally:  # a request to end the process is served even after an interrupt
                self._run_requests()
        return done

    def request(self, work: Callable[[], object]) -> None:
        """Run ``work`` now or, if this thread is already at work, right after that."""
        if self._worker == threading.get_ident():
            self._requested.append(work)
        else:
            work()

    def note(self, about: str, problem: BaseException | str) -> None:
        """Store why something is unknown, for the next snapshot."""
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
            self._worker = outer  # before any call, because an interrupt may come after one
            hush(outer == me)
        return True

    def _run_requests(self) -> None:
        while self._worker is None and self._requested:
            self._requested.pop()()  # the latest first: it may end the process


# A look turns automatic garbage collection off. If another thread or a gauge forks during a look,
# the look may never end in the child, so the child turns the collector on again.
os.register_at_fork(after_in_child=give_back_collector)
