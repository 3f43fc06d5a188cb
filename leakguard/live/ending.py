"""How a run ends that nobody ends: with its process, by an exit or by a signal."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from leakguard.live.beacon import Listener
from leakguard.live.settings import Settings
from leakguard.live.watcher import Watcher


class _Stop(Protocol):
    def __call__(self, *, failed: bool) -> None: ...


class Ending:
    """Closes a run when its process exits or is asked to terminate; answers ``on_signal``."""

    def __init__(self, settings: Settings, watcher: Watcher, stop: _Stop) -> None:
        """Keep what to do; nothing is listened to before ``listen``."""
        self._stop = lambda: stop(failed=True)
        self._listener: Listener | None = None
        if settings.on_signal is not None and settings.out is not None:
            self._listener = Listener(settings.on_signal, settings.out, watcher.request)
        self._termination = _Termination(watcher.safety.request, self._stop)
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

    It is equal to ``signal.SIG_DFL``: a framework that asks whether anyone handles the signal
    before it does so itself hears that nobody does, which is true for the process' end.
    """

    def __init__(
        self, when_free: Callable[[Callable[[], None]], None], close_run: Callable[[], None]
    ) -> None:
        self._when_free = when_free
        self._close_run = close_run
        self._pid = os.getpid()
        self._asked = False

    def install(self) -> None:
        """Take the place of the default, if it is in force and this thread may."""
        if threading.current_thread() is threading.main_thread() and _is_default():
            with contextlib.suppress(ValueError, OSError):
                signal.signal(signal.SIGTERM, self)

    def remove(self) -> None:
        """Put the default back, unless the program has chosen something else meanwhile."""
        if signal.getsignal(signal.SIGTERM) is self:
            with contextlib.suppress(ValueError, OSError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Close the run and end; in the middle of the guard's own work, when that is done.

        Who asks a second time does not want to wait.
        """
        if os.getpid() != self._pid or self._asked:
            _end_by(number)
        else:
            self._asked = True
            self._when_free(lambda: self._close_and_end(number))

    def _close_and_end(self, number: int) -> None:
        try:
            self._close_run()
        finally:
            _end_by(number)

    def __eq__(self, other: object) -> bool:
        return other is self or other is signal.SIG_DFL

    def __hash__(self) -> int:
        return hash(signal.SIG_DFL)


def _end_by(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _is_default() -> bool:
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


_forking = threading.local()  # whether this thread holds SIGTERM back while it forks


def _hold_back() -> None:
    """Hold SIGTERM back during a fork: Python forgets what a child hears before it is set up."""
    mine = isinstance(signal.getsignal(signal.SIGTERM), _Termination)
    if mine and signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        _forking.holds = True


def _let_come() -> None:
    if getattr(_forking, "holds", False):
        _forking.holds = False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _default_in_child() -> None:
    """A forked child is none of the guard's business: it dies of the signal as it would."""
    handler = signal.getsignal(signal.SIGTERM)
    if isinstance(handler, _Termination):
        handler.remove()
    _let_come()


os.register_at_fork(before=_hold_back, after_in_parent=_let_come, after_in_child=_default_in_child)
