"""A loop that a framework runs: its callbacks say when something begins and ends."""

from __future__ import annotations

from leakguard.errors import UsageError, shown
from leakguard.guard import LeakGuard
from leakguard.live import active
from leakguard.live.schedule import SHORT
from leakguard.phase import phase


class FrameworkLoop:
    """Makes generations and phases of a guard out of the calls of a framework.

    A phase lasts until the next one, and a generation until the next one or the end, so that what
    a framework does between its callbacks counts too. A guard that the user has around the loop
    goes on after it.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Follow with ``guard``, or one of its own; ``every`` steps are a generation.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        self.guard = LeakGuard() if guard is None else guard
        self.every = None if every is None else checked_every(every)
        self._phase: phase | None = None
        self._running = False
        self._owns = False
        self._began_at: int | None = None

    def begin(self, total: int | None = None, *, steps: int | None = None) -> None:
        """Start the run; harmless when it has begun.

        Args:
            total: generations that the loop will have, None where the framework does not know.
            steps: steps that it will have, for a generation of ``every`` steps.

        Raises:
            UsageError: the run file cannot be written.
        """
        self.leave()  # of a loop that an exception ended, which nobody told
        if not self._running or not self.guard.running:
            self._owns = not self.guard.running
            if self._owns:
                active.forget_phases()
                self.guard.__enter__()
            self._running, self._began_at = True, None
            if self.every is not None:
                total = None if steps is None else -(-steps // self.every)
            # A framework may stop early: what it knows is the most there can be.
            short = total is not None and total <= SHORT
            self.guard.announce(total if short else None)

    def generation(self, number: int | None = None) -> None:
        """End the running generation, and begin the next."""
        if self._running:
            self.leave()
            self.guard.generation(number)

    def step(self, steps: int) -> bool:
        """Begin a generation if ``every`` steps have gone by; ``steps`` counts from the beginning.

        Returns:
            Whether one has begun, as it does at the first call.
        """
        begins = self.every is not None and (
            self._began_at is None or steps - self._began_at >= self.every
        )
        if begins and self._running:
            self._began_at = steps
            self.generation()
        return begins

    def phase(self, name: str) -> None:
        """Leave the phase that runs, and enter this one."""
        self.leave()
        if self._running:
            self._phase = self.guard.phase(name)
            self._phase.__enter__()

    def resume(self, name: str) -> None:
        """Enter a phase where none runs, as after one that lies inside of it."""
        if self._phase is None:
            self.phase(name)

    def leave(self) -> None:
        """Leave the phase that runs, if one does."""
        running, self._phase = self._phase, None
        if running is not None:
            running.__exit__(None, None, None)

    def end(self, error: BaseException | None = None) -> None:
        """End the run, or leave it to the user's own ``with``; ``error`` is what ended the loop."""
        if self._running:
            self.leave()
            self._running = False
            if self._owns and self.guard.running:
                self.guard.__exit__(None if error is None else type(error), error, None)


def checked_every(every: int) -> int:
    """Return how many steps are a generation.

    Raises:
        UsageError: it is no number of steps.
    """
    if not isinstance(every, int) or every < 1:
        raise UsageError(
            f"every={shown(every)} is not a number of steps, 1 or more; write every=100"
        )
    return every
