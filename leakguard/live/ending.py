"""Ends a run that the program does not end: when the process exits, or on a signal."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from leakguard.compiled_part import check_interface
from leakguard.live.guarded_run import GuardedRun
from leakguard.live.main_thread import is_main_thread
from leakguard.live.on_signal import Listener
from leakguard.live.settings import Settings

if TYPE_CHECKING:
    from leakguard.live.answering import Answering

try:
    from leakguard.live import _sigterm

    check_interface(_sigterm, 0x4C762F91)
except ImportError:  # it was not built, or from other sources
    _sigterm = None  # type: ignore[assignment]

# Seconds after SIGTERM within which the main thread must react, and seconds that closing the run
# may then take. Chosen: 9 s in all, because supervisors wait 10 s or more before they kill.
_UNTIL_HEARD, _UNTIL_CLOSED = 2.0, 7.0
# The pid of the first process in a namespace. The kernel drops each signal for which this process
# has no handler. So SIGTERM does not end the process, and the guard adds no handler.
_FIRST_PROCESS = 1


class _Stop(Protocol):
    def __call__(self, *, failed: bool, error: BaseException | None = None) -> None: ...


class Ending:
    """Closes a run when its process exits or is asked to terminate.

    With ``on_signal``, it also answers that signal and ``leakguard snapshot PID``.
    """

    def __init__(self, settings: Settings, guarded: GuardedRun, stop: _Stop) -> None:
        """Store what to do; nothing is installed before ``listen``."""
        # The exception that ended the main program, which the interpreter has kept.
        self._stop = lambda: stop(failed=True, error=getattr(sys, "last_value", None))
        self._listener: Listener | None = None
        self._answering: Answering | None = None
        if settings.on_signal is not None:
            from leakguard.live.answering import Answering  # not above: few guards need a socket

            self._listener = Listener(settings.on_signal, guarded.request)
            self._answering = Answering(guarded.look_now, settings.out)
        self._note = guarded.safety.note
        self._termination = _Termination(guarded.safety.request, self._stop)
        self._finalizer: _Cancellable | None = None

    def listen(self) -> None:
        """Install the handlers; after an exception, ``close`` removes those already installed.

        Raises:
            UsageError: ``on_signal`` cannot be answered here.
        """
        if self._listener is not None:
            self._listener.listen()
        if self._answering is not None:
            try:
                self._answering.start()
            except OSError as error:  # the signal is answered all the same
                self._note("leakguard snapshot", error)
        self._termination.install()
        atexit.register(self._stop)
        self._finalizer = _at_end_of_child(self._stop)

    def close(self) -> None:
        """Remove the handlers of ``on_signal`` and of the exit; harmless if already done.

        The handler of SIGTERM stays until ``leave``, so that the signal does not cut off the
        report. The handler of the exit is removed last: it closes what an interrupt has left open.
        """
        if self._listener is not None:
            self._listener.close()
        if self._answering is not None:
            self._answering.stop()
        if self._finalizer is not None:
            self._finalizer.cancel()
        atexit.unregister(self._stop)

    def leave(self) -> None:
        """Restore SIGTERM as it was found."""
        self._termination.remove()


class _Cancellable(Protocol):
    def cancel(self) -> object: ...


def _at_end_of_child(stop: Callable[[], None]) -> _Cancellable | None:
    """Have ``stop`` called at the end: children of multiprocessing exit without ``atexit``."""
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None:
        return None
    from multiprocessing.util import Finalize

    return Finalize(None, stop, exitpriority=0)


class _Termination:
    """Closes the run on SIGTERM, and then ends the process exactly as the default does.

    Python calls a handler only between two calls of C code. So a handler in C comes first; it ends
    the process if this handler is not called or does not finish, in one long call or in a deadlock.
    The last look and the report are then lost, but the run file is complete. Without the compiled
    part, SIGTERM is left alone. It is also left alone in the first process of a container, which
    the default does not end.

    A forked child is not watched: there the handler in C ends the process at once. So nothing must
    be restored when a worker begins, which would unshare its pages.

    This object equals ``signal.SIG_DFL``: a framework may check that no handler is installed before
    it installs its own. For the end of the process, that answer is true.
    """

    def __init__(
        self, when_free: Callable[[Callable[[], None]], None], close_run: Callable[[], None]
    ) -> None:
        self._when_free = when_free
        self._close_run = close_run
        self._home = os.getpid()
        self._first = False  # whether the handler in C was put before this one
        self._is_over = False

    def install(self) -> None:
        """Replace the default handler, if it is in force and this is the main thread."""
        if _sigterm is None or os.getpid() == _FIRST_PROCESS or not is_main_thread():
            return
        inherited = _termination()
        if inherited is not None and (inherited._is_over or inherited._home != self._home):
            inherited.remove()
        if _sigterm.is_default() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            try:
                signal.signal(signal.SIGTERM, self)
                _sigterm.listen_first(_UNTIL_HEARD)
                self._first = True
            except OSError:  # no timer is available
                self.remove()

    def remove(self) -> None:
        """Restore the default, unless the program has installed another handler meanwhile.

        Such a handler may be in C and unknown to Python, as the one of ``faulthandler`` is. Another
        thread than the main one cannot restore it; the next run that begins there does.
        """
        self._is_over = True
        if _sigterm is not None and _termination() is self:
            taken = not _sigterm.listen_no_more() and self._first
            with contextlib.suppress(ValueError, OSError):
                if not taken:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Close the run and end; if the guard is at work, do so after that work."""
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
