"""Tells what the main thread waits for, as seen from another thread.

Frames show in which function the main thread waits. The thread that a ``join()`` waits for is a
local variable of its frame. Up to Python 3.12, reading local variables changes the dict that
``locals()`` returned. So the thread is recorded when ``join()`` is called.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import NamedTuple

from leakguard.live.main_thread import is_main_thread

# Modules in which a thread waits: in the first for a result of another thread, in the second (an
# event loop) for an event.
_RESULTS = ("concurrent.futures.", "selectors")
# The function in which the main thread waits for all others when the script is over.
_AT_EXIT = ("threading", "_shutdown")
# Packages whose functions are called during a wait.
_WAITS = frozenset({"threading", "concurrent", "selectors", "queue"})


class Wait(NamedTuple):
    """What the main thread waits for: the end of ``thread``, or a result if that is None."""

    thread: int | None = None


class MainWait:
    """Returns what the main thread waits for, once it observes the calls of ``Thread.join``."""

    def __init__(self) -> None:
        self._joined: list[int | None] = []  # several if a signal handler also joins a thread

    def listen(self) -> None:
        """Record each thread for whose end the main thread begins to wait."""
        join = threading.Thread.join

        @functools.wraps(join)
        def noted(thread: threading.Thread, timeout: float | None = None) -> None:
            if not is_main_thread():
                return join(thread, timeout)
            # Not ``thread.ident``: a subclass may override this property with code of its own.
            self._joined.append(getattr(thread, "_ident", None))
            try:
                return join(thread, timeout)
            finally:
                self._joined.pop()

        threading.Thread.join = noted  # type: ignore[method-assign, assignment]

    def __call__(self) -> Wait | None:
        """Return what the main thread waits for; None if it waits for no other thread."""
        main = threading.main_thread().ident
        frame = None if main is None else sys._current_frames().get(main)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module == "threading" and frame.f_code.co_name == "join":
                return Wait(self._joined[-1] if self._joined else None)
            if module.startswith(_RESULTS) or (module, frame.f_code.co_name) == _AT_EXIT:
                return Wait()
            if module.partition(".")[0] not in _WAITS:
                return None
            frame = frame.f_back
        return None
