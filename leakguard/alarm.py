"""Passes exceptions from the program's own signal handlers on to the program."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import CodeType, TracebackType


def pass_on(error: BaseException) -> None:
    """Raise an error again if a signal handler of the program raised it during the guard's work.

    A program may limit its own time by an alarm, which comes only once. If the guard kept the
    exception as a note, it would never reach the program.
    """
    if is_of_a_handler(error):
        try:
            raise error
        finally:
            del error  # this frame is in the error's traceback, and would keep the error alive


def is_of_a_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the program raised ``error``, at an arbitrary moment."""
    handlers = filter(callable, map(signal.getsignal, signal.valid_signals()))
    return not frozenset(map(_code_of, handlers)).isdisjoint(_codes(error.__traceback__))


def _code_of(handler: object) -> object:
    """Return the code of a function, a bound method, a partial, or an object with ``__call__``."""
    try:
        function = getattr(handler, "func", handler)
        if not hasattr(function, "__code__"):
            function = type(function).__call__
        return function.__code__
    except Exception:  # no Python code, or an object whose attributes cannot be read
        return None


def _codes(traceback: TracebackType | None) -> Iterator[CodeType]:
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next
