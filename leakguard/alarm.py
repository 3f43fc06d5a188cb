"""Exceptions of the program's own signal handlers, which must reach the program."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import CodeType, TracebackType


def pass_on(error: BaseException) -> None:
    """Raise an error again if the program's signal handler raised it during our work.

    An alarm is how a program limits its own time, and it comes once: kept as a note of ours, it
    would never reach the program.
    """
    if is_of_a_handler(error):
        try:
            raise error
        finally:
            del error  # this frame, which the error's traceback keeps, would keep the error


def is_of_a_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the program raised it: it can come at any moment."""
    handlers = filter(callable, map(signal.getsignal, signal.valid_signals()))
    return not frozenset(map(_code_of, handlers)).isdisjoint(_codes(error.__traceback__))


def _code_of(handler: object) -> object:
    """Return the code of a function, a bound method, a partial, or an object with ``__call__``."""
    try:
        function = getattr(handler, "func", handler)
        if not hasattr(function, "__code__"):
            function = type(function).__call__
        return function.__code__
    except Exception:  # no Python code, or an object that cannot be asked
        return None


def _codes(traceback: TracebackType | None) -> Iterator[CodeType]:
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next
