"""How a run ends that nobody ends: with its process, by an exit or by a signal."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from leakguard.compiled_part import check_interface
from leakguard.live.beacon import Listener
from leakguard.live.guarded_run import GuardedRun
from leakguard.live.main_thread import is_main_thread
from leakguard.live.settings import Settings

try:
    from leakguard.live import _sigterm

    check_interface(_sigterm, 0x4C762F91)
except ImportError:  # it was not built, or from other sources
    _sigterm = None  # type: ignore[assignment]

# Seconds after SIGTERM in which the main thread has to hear of it, and those that closing the run
# may take then: who supervises processes waits ten before it kills, or more. Chosen.
_UNTIL_HEARD, _UNTIL_CLOSED = 2.0, 7.0
# In its namespace the kernel ignores a signal for it that has no handler.
_FIRST_PROCESS = 1


class _Stop(Protocol):
    def __call__(self, *, failed: bool) -> None: ...


class Ending:
    """Closes a run when its process exits or is asked to terminate; answers ``on_signal``."""

    def __init__(self, settings: Settings, guarded: GuardedRun, stop: _Stop) -> None:
        """Keep what to do; nothing is listened to before ``listen``."""
        self._stop = lambda: stop(failed=True)
        self._listener: Listener | None = None
        if settings.on_signal is not None and settings.out is not None:
            self._listener = Listener(settings.on_signal, settings.out, guarded.request)
        self._termination = _Termination(guarded.safety.request, self._stop)
        self._finalizer: _Cancellable | None = None

    def listen(self) -> None:
        """Begin to listen; what raises here leaves to ``close`` what has begun by then.

        Raises:
            UsageError: ``on_signal`` cannot be listened to here.
        """
        if self._listener is not None:
            self._listener.listen()
        self._termination.install()
        atexit.register(self._stop)
        self._finalizer = _at_end_of_child(self._stop)

    def close(self) -> None:
        """Hear no more of the program, and of its exit; harmless when it is already.

        SIGTERM is heard until ``leave``, so that it does not cut off the last report. The exit of
        the process is forgotten last: it closes what an interrupt has left.
        """
        if self._listener is not None:
            self._listener.close()
        if self._finalizer is not None:
            self._finalizer.cancel()
        atexit.unregister(self._stop)

    def leave(self) -> None:
        """Leave SIGTERM as it was found."""
        self._termination.remove()


class _Cancellable(Protocol):
    def cancel(self) -> object: ...


def _at_end_of_child(stop: Callable[[], None]) -> _Cancellable | None:
    """Have ``stop`` called: children of multiprocessing leave without ``atexit``."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return None
    from multiprocessing.util import Finalize

    return Finalize(None, stop, exitpriority=0)


class _Termination:
    """Ends the process on SIGTERM exactly as the default does, once the run was closed.

    It is heard by Python between two calls of C code. So a handler in C stands before it, which
    ends the process where this one is not called, or does not come to its end: in one long call, in
    a deadlock. What is lost then is the last look and the report; the run file is whole. Without
    the compiled part the signal is left alone, as it is in the first process of a container, which
    the default does not end.

    A forked child is none of the guard's business: there the handler in C ends the process at once,
    so that nothing has to be put back where a worker begins, which would unshare its pages.

    It is equal to ``signal.SIG_DFL``: a framework that asks whether anyone handles the signal
    before it does so itself hears that nobody does, which is true for the process' end.
    """

    def __init__(
        self, when_free: Callable[[Callable[[], None]], None], close_run: Callable[[], None]
    ) -> None:
        self._when_free = when_free
        self._close_run = close_run
        self._home = os.getpid()
        self._first = False  # whether the handler in C was put before this one

    def install(self) -> None:
        """Take the place of the default, if it is in force and this thread may."""
        if _sigterm is None or os.getpid() == _FIRST_PROCESS or not is_main_thread():
            return
        inherited = _termination()
        if inherited is not None and inherited._home != self._home:
            inherited.remove()
        if _sigterm.is_default() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            try:
                signal.signal(signal.SIGTERM, self)
                _sigterm.listen_first(_UNTIL_HEARD)
                self._first = True
            except OSError:  # no timer to be had
                self.remove()

    def remove(self) -> None:
        """Put the default back, unless the program has chosen something else meanwhile.

        That may be a handler in C that Python knows nothing of, as ``faulthandler`` has one.
        """
        if _sigterm is not None and _termination() is self:
            taken = not _sigterm.listen_no_more() and self._first
            with contextlib.suppress(ValueError, OSError):
                if not taken:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Close the run and end; in the middle of the guard's own work, when that is done."""
        self._when_free(lambda: self._close_and_end(number))

    def _close_and_end(self, number: int) -> None:
        try:
            if _sigterm is not None:
                _sigterm.end_within(_UNTIL_CLOSED)
            self._close_run()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def __eq__(self, other: object) -> bool:
        return other is self or other is signal.SIG_DFL

    def __hash__(self) -> int:
        return hash(signal.SIG_DFL)


def _termination() -> _Termination | None:
    """Return the guard's handler, if it is in force."""
    handler = signal.getsignal(signal.SIGTERM)
    return handler if isinstance(handler, _Termination) else None
