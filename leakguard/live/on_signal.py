"""Answers a signal while a guard runs, as ``on_signal=`` wishes."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType

from leakguard.errors import UsageError

_Handler = Callable[[int, "FrameType | None"], object]

#: The signals that a guard may answer. The system never sends ``SIGUSR1`` and ``SIGUSR2`` by
#: itself. A terminal causes ``SIGHUP`` when it closes and ``SIGWINCH`` when it is resized, so a
#: program without a terminal can use both for the guard.
SIGNALS = frozenset(
    number
    for name in ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGWINCH")
    if (number := getattr(signal, name, None)) is not None
)


class Listener:
    """Answers a signal while a guard runs."""

    def __init__(self, number: int, answer: Callable[[], None]) -> None:
        """Store what to do on a signal; ``listen`` installs the handler."""
        self._number = number
        self._pid = os.getpid()
        self._handler: _Handler = lambda number, frame: answer()
        self._before: _Handler | int | None = None

    def listen(self) -> None:
        """Install the handler; works only in the main thread.

        Raises:
            UsageError: this is another thread, or the signal cannot be caught.
        """
        number = self._number
        try:
            self._before = signal.getsignal(number)
            signal.signal(number, self._handler)
        except (ValueError, OSError) as error:
            raise UsageError(f"on_signal={number} cannot be used: {error}") from None

    def close(self) -> None:
        """Restore the earlier handler; in a forked child, do nothing.

        A handler that the program has installed in the meantime stays.
        """
        before = self._before
        if os.getpid() == self._pid and signal.getsignal(self._number) is self._handler:
            with contextlib.suppress(ValueError, OSError):  # another thread ends the run
                signal.signal(self._number, signal.SIG_DFL if before is None else before)
