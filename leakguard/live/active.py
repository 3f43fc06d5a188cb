"""Tracks which guard is active, and which phases the running thread or task is in."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from leakguard.alarm import is_of_a_handler

#: Ends a phase. It gets the exception that left the phase, or None.
Leave = Callable[["BaseException | None"], None]


class ActiveGuard(Protocol):
    """What phases and promises need from the active guard."""

    def enter_phase(self, name: str) -> Leave | None:
        """Begin a phase; return the function that ends it, or None if the phase is not recorded."""

    def expect_freed(self, target: object, why: str = "") -> None:
        """Hold a weak reference to ``target`` until the promise is judged."""


_guards: list[ActiveGuard] = []
_phases: ContextVar[tuple[str, ...]] = ContextVar("leakguard_phases", default=())


def active_guard() -> ActiveGuard | None:
    """Return the innermost guard that is active in this process, or None."""
    return _guards[-1] if _guards else None


def activate(guard: ActiveGuard) -> None:
    """Make ``guard`` the active guard of the whole process, including all threads."""
    if not _guards:
        forget_phases()
    _guards.append(guard)


def deactivate(guard: ActiveGuard) -> None:
    """Remove ``guard`` from the active guards, also if it is not the innermost."""
    if guard in _guards:
        _guards.remove(guard)


def open_phases() -> tuple[str, ...]:
    """Return the names of the phases around this point, outermost first."""
    return _phases.get()


def open_phase(name: str) -> None:
    """Open a phase around what follows, in this thread or task only."""
    _phases.set((*_phases.get(), name))


def forget_phases() -> None:
    """Forget the phases that are still open here when a run begins."""
    _phases.set(())


def close_phase(name: str, *, with_inner: bool = False) -> None:
    """Close the innermost phase of this name; interleaved generators may end in any order.

    With ``with_inner``, the phases opened inside it are closed, too: an interrupt may have skipped
    the code that closes them.
    """
    names = _phases.get()
    if name in names:
        at = len(names) - 1 - names[::-1].index(name)
        _phases.set(names[:at] if with_inner else names[:at] + names[at + 1 :])


def close_phases_beyond(outer: tuple[str, ...]) -> None:
    """Close the phases opened inside ``outer``, the phases that were open at an earlier moment."""
    names = _phases.get()
    if names[: len(outer)] == outer:
        _phases.set(outer)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether the exception can come at any moment, as from Ctrl-C or an alarm."""
    if error is None or isinstance(error, GeneratorExit):
        return False
    return not isinstance(error, Exception) or is_of_a_handler(error)
