"""What the main thread waits for, as another thread sees it.

Frames say in which function it waits. Which thread a ``join()`` is about is a local variable of its
frame, and reading local variables changes, up to Python 3.12, the dict that ``locals()`` returned.
So the call is noted when it is made.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import NamedTuple

from leakguard.live.main_thread import is_main_thread

# Modules in whose functions a thread waits for what others work out, and of an event loop for all.
_RESULTS = ("concurrent.futures.", "selectors")
# The function in which the main thread waits for all others when the script is over.
_AT_EXIT = ("threading", "_shutdown")
# Packages whose functions are called by those that wait.
_WAITS = frozenset({"threading", "concurrent", "selectors", "queue"})


class Wait(NamedTuple):
    """What the main thread waits for: the end of a ``thread``, or, without one, a result."""

    thread: int | None = None


class MainWait:
    """Tells what the main thread waits for, once it listens to the calls of ``Thread.join``."""

    def __init__(self) -> None:
        self._joined: list[int | None] = []  # several where a signal handler joins one, too

    def listen(self) -> None:
        """Be told of each thread whose end the main thread begins to wait for."""
        join = threading.Thread.join

        @functools.wraps(join)
        def noted(thread: threading.Thread, timeout: float | None = None) -> None:
            if not is_main_thread():
                return join(thread, timeout)
            # Its number only: a subclass may have an ``ident`` of its own.
            self._joined.append(getattr(thread, "_ident", None))
            try:
                return join(thread, timeout)
            finally:
                self._joined.pop()

        threading.Thread.join = noted  # type: ignore[method-assign, assignment]

    def __call__(self) -> Wait | None:
        """Return which of the other threads the main thread waits for; None where it does not."""
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
