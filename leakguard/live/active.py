"""Which guard is active, and which phases the running thread or task is inside."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakguard.guard import LeakGuard

_guards: list[LeakGuard] = []
_phases: ContextVar[tuple[str, ...]] = ContextVar("leakguard_phases", default=())


def active_guard() -> LeakGuard | None:
    """Return the innermost guard that is active in this process, or None."""
    return _guards[-1] if _guards else None


def activate(guard: LeakGuard) -> None:
    """Make ``guard`` the active one of the whole process, threads included."""
    _guards.append(guard)


def deactivate(guard: LeakGuard) -> None:
    """Take ``guard`` out, wherever it stands."""
    if guard in _guards:
        _guards.remove(guard)


def open_phases() -> tuple[str, ...]:
    """Return the names of the phases around this point, outermost first."""
    return _phases.get()


def set_open_phases(names: tuple[str, ...]) -> None:
    """Set the phases around this point, in this thread or task only."""
    _phases.set(names)
