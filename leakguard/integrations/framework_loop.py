"""A loop that a framework runs; the framework's callbacks mark its generations and phases."""

from __future__ import annotations

from leakguard.errors import UsageError, shown
from leakguard.guard import LeakGuard
from leakguard.live import active
from leakguard.live.schedule import SHORT
from leakguard.phase import phase


class FrameworkLoop:
    """Turns a framework's callbacks into generations and phases of a guard.

    A phase lasts until the next phase begins, and a generation until the next generation or the end
    of the run. So what the framework does between its callbacks counts too. If the user started the
    guard before the loop, the guard keeps running after the loop.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Use ``guard``, or a new guard if it is None; ``every`` steps are a generation.

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
        """Start the run; do nothing more than leave the phase if the run has begun already.

        Args:
            total: generations that the loop will have; None if the framework does not know.
            steps: steps that the loop will have; used if ``every`` steps are a generation.

        Raises:
            UsageError: the run file cannot be written.
        """
        self.leave()  # a phase may be open if an exception ended an earlier loop unnoticed
        if not self._running or not self.guard.running:
            self._owns = not self.guard.running
            if self._owns:
                active.forget_phases()
                self.guard.__enter__()
            self._running, self._began_at = True, None
            if self.every is not None:
                total = None if steps is None else -(-steps // self.every)
            # A framework may stop early, so ``total`` is an upper limit. It is announced only if it
            # proves that the loop is short.
            short = total is not None and total <= SHORT
            self.guard.announce(total if short else None)

    def generation(self, number: int | None = None) -> None:
        """End the current generation and begin the next."""
        if self._running:
            self.leave()
            self.guard.generation(number)

    def step(self, steps: int) -> bool:
        """Begin a generation if ``every`` steps have passed since the last one began.

        ``steps`` is the number of steps since the beginning of the loop.

        Returns:
            Whether a generation was due; the first call always begins one.
        """
        begins = self.every is not None and (
            self._began_at is None or steps - self._began_at >= self.every
        )
        if begins and self._running:
            self._began_at = steps
            self.generation()
        return begins

    def phase(self, name: str) -> None:
        """Leave the current phase and enter the phase ``name``."""
        self.leave()
        if self._running:
            self._phase = self.guard.phase(name)
            self._phase.__enter__()

    def resume(self, name: str) -> None:
        """Enter the phase ``name`` unless a phase is open.

        For example, training resumes after an evaluation that interrupted it.
        """
        if self._phase is None:
            self.phase(name)

    def leave(self) -> None:
        """Leave the current phase, if any."""
        running, self._phase = self._phase, None
        if running is not None:
            running.__exit__(None, None, None)

    def end(self, error: BaseException | None = None) -> None:
        """End the run; if the user started the guard, the user's ``with`` block ends it.

        ``error`` is the exception that ended the loop, if any.
        """
        if self._running:
            self.leave()
            self._running = False
            if self._owns and self.guard.running:
                self.guard.__exit__(None if error is None else type(error), error, None)


def checked_every(every: int) -> int:
    """Return ``every``, the number of steps that are a generation, if it is valid.

    Raises:
        UsageError: ``every`` is no number of steps.
    """
    if not isinstance(every, int) or every < 1:
        raise UsageError(
            f"every={shown(every)} is not a number of steps, 1 or more; write every=100"
        )
    return every
