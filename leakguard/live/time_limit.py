"""Calls a function when a part of the program takes too long."""

from __future__ import annotations

import _thread
import contextlib
import os
import threading
from collections.abc import Callable

from leakguard.capture.run_queue import program_clock

# Seconds to wait until the thread ends; it may be busy with other work of the guard.
_JOIN_SECONDS = 0.1


class TimeLimit:
    """A thread that calls ``call`` once after so many seconds, unless it is cancelled before.

    Time in which other programs had the processors does not count.

    The thread is not one of ``threading``, because a program that joins its own threads would wait
    for it. The thread ends before the program forks, because Python warns about a fork of a process
    with several threads. It starts again afterwards.
    """

    def __init__(self, seconds: float, call: Callable[[], object]) -> None:
        """Start waiting."""
        self._seconds = seconds
        self._call = call
        self._begin()
        _waiting.append(self)

    def cancel(self) -> None:
        """Cancel the call."""
        if self in _waiting:
            _waiting.remove(self)
        self.pause()

    def pause(self) -> None:
        """End the thread."""
        self._cancelled.set()
        if self._thread != _thread.get_ident():
            self._running.acquire(timeout=_JOIN_SECONDS)

    def go_on(self) -> None:
        """Start waiting again, for the whole time."""
        self._begin()

    def _begin(self) -> None:
        self._cancelled = threading.Event()
        self._running = _thread.allocate_lock()  # held by the thread until it ends
        self._thread: int | None = None
        with contextlib.suppress(RuntimeError):  # no thread can be started
            self._running.acquire()
            waits = (self._cancelled, self._running, self._seconds)
            self._thread = _thread.start_new_thread(self._wait, waits)

    def _wait(self, cancelled: threading.Event, running: _thread.LockType, seconds: float) -> None:
        try:
            ends = program_clock() + seconds
            while (left := ends - program_clock()) > 0:
                if cancelled.wait(left):
                    return
            if not cancelled.is_set():
                self._call()
        finally:
            running.release()


_waiting: list[TimeLimit] = []


def _before_fork() -> None:
    for limit in _waiting:
        limit.pause()


def _in_parent() -> None:
    for limit in _waiting:
        limit.go_on()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_in_parent, after_in_child=_waiting.clear
    )
