"""A probe reads some scalars of the process; a failing one becomes a reason, never an error."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, TracebackType

Reading = Mapping[str, int | float]
Probe = Callable[[], Reading]


class Unavailable(Exception):
    """Raised by a probe that cannot know its number here; the text is the reason."""


@dataclass(slots=True)
class Measurement:
    """What a set of probes read, and why others could not."""

    metrics: dict[str, int | float] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)


def measure(probes: Iterable[tuple[str, Probe]]) -> Measurement:
    """Run named probes one after the other; whatever one raises is kept as its reason."""
    result = Measurement()
    for name, probe in probes:
        try:
            result.metrics.update(probe())
        except Unavailable as reason:
            result.unavailable[name] = reason_of(reason)
        except Exception as error:  # the watched program never fails because of a probe
            pass_on(error)
            result.unavailable[name] = reason_of(error)
    return result


def reason_of(error: BaseException) -> str:
    """Return what a note says about an error; one that cannot even be told gives its type."""
    if isinstance(error, Unavailable):
        return str(error)
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def pass_on(error: BaseException) -> None:
    """Raise an error again that a signal handler of the program raised in the middle of our work.

    An alarm is how a program limits its own time, and it rings once: kept as a note of ours, it
    would never reach the program.
    """
    if is_of_a_handler(error):
        try:
            raise error
        finally:
            del error  # this frame, which the error's traceback keeps, would keep the error


def is_of_a_handler(error: BaseException) -> bool:
    """Return whether a signal handler of the program raised it: it may have come at any moment."""
    handlers = filter(callable, map(signal.getsignal, signal.valid_signals()))
    return not frozenset(map(_code_of, handlers)).isdisjoint(_codes(error.__traceback__))


def _code_of(handler: object) -> object:
    """Return the code of a function, a bound method, a partial, or an object with ``__call__``."""
    try:
        function = getattr(handler, "func", handler)
        if not hasattr(function, "__code__"):
            function = type(function).__call__
        return function.__code__
    except Exception:  # none that Python runs, or one that cannot be asked
        return None


def _codes(traceback: TracebackType | None) -> Iterator[CodeType]:
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next
