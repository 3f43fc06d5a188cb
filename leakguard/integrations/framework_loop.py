"""A loop that a framework runs; the framework's callbacks mark its generations and phases."""

from __future__ import annotations

from leakguard.errors import UsageError, shown
from leakguard.guard import LeakGuard
from leakguard.integrations.division import Division
from leakguard.live import active
from leakguard.live.generations import Generation
from leakguard.live.policy import MEASURED_FIRST
from leakguard.model.snapshot import EVALUATIONS
from leakguard.phase import phase


class FrameworkLoop:
    """Turns a framework's callbacks into generations and phases of a guard.

    A phase lasts until the next phase begins, and a generation until the next generation or the end
    of the run. So what the framework does between its callbacks counts too. If the user started the
    guard before the loop, the guard keeps running after the loop.

    A round of the framework (an epoch, a rollout) is a generation. One that lasts long is divided:
    a generation is then so many steps, and the rounds are a level above.
    """

    def __init__(
        self,
        guard: LeakGuard | None = None,
        every: int | None = None,
        level: str = "epoch",
        unit: str = "step",
    ) -> None:
        """Use ``guard``, or a new guard if it is None; ``every`` steps are a generation.

        ``level`` is the noun for a round of the framework, and ``unit`` the noun for a step.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        self.guard = LeakGuard() if guard is None else guard
        self.every = None if every is None else checked_every(every)
        self._level = level
        self._unit = unit
        self._phase: phase | None = None
        self._phase_name = ""
        self._is_evaluated = False
        self._running = False
        self._owns = False
        self._began_at: int | None = None
        self._generation: Generation | None = None
        self._number = 0
        self._is_grouped = False
        self._steps = Division()
        self._batches: dict[str, Division] = {}  # of an evaluation, by its phase
        self._left: int | None = None

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
            short = total is not None and total <= MEASURED_FIRST
            self.guard.announce(total if short else None)

    def round(self, steps: int | None = None) -> None:
        """Begin a round of the framework, such as an epoch, and a generation with it.

        With ``every`` steps in a generation, no generation begins. ``steps`` is how many steps the
        round will have; None if the framework does not know.
        """
        if not self._running:
            return
        if self.every is None:
            self.leave()
            self._end_generation()
        self.guard.outer_round(self._level)
        if self.every is None:
            self._left = steps
            self._steps.begin(steps)
            self.generation(self._steps.taken)

    def evaluation(self, name: str) -> None:
        """Begin an evaluation, whose phase has this name."""
        if self._running:
            self.guard.outer_round(EVALUATIONS.get(name, name))
            self._batches.setdefault(name, Division()).begin()
        self.phase(name)

    def evaluated(self) -> None:
        """Note that an evaluation is over; its phase lasts until the next one begins.

        So it includes what other callbacks do at the end of the evaluation.
        """
        self._is_evaluated = True

    def generation(self, taken: int = 1) -> None:
        """End the current generation and begin the next, which stands for ``taken`` generations."""
        if self._running:
            self.leave()
            grouped = taken > 1 or self._is_grouped
            self._is_grouped = grouped
            self._generation = self.guard.generation(self._number + taken if grouped else None)
            self._generation.take_together(taken)
            self._number = self._generation.number or self._number + taken

    def step(self, steps: int | None = None) -> bool:
        """Note that a step begins; begin a generation before it if one is due.

        ``steps`` is the number of steps since the beginning of the loop. It matters if ``every``
        steps are a generation; the first call then always begins one.

        Returns:
            Whether a generation was due.
        """
        if self.every is None:
            return self._divide(self._steps, self._unit)
        begins = self._began_at is None or (steps or 0) - self._began_at >= self.every
        if begins and self._running:
            self._began_at = steps or 0
            self.generation()
        return begins

    def batch(self, name: str) -> None:
        """Note that a batch of the evaluation begins whose phase has this name."""
        division = self._batches.get(name)
        if self.every is None and division is not None:
            self._divide(division, f"batch of {EVALUATIONS.get(name, name)}")

    def _divide(self, division: Division, unit: str) -> bool:
        """Begin a generation within a round that lasts long; the phase goes on in it."""
        was_whole = division.unit is None
        due = self._running and division.step()
        left = self._left if division is self._steps else None
        if left is not None:
            self._left = left - 1
        if not due:
            return False
        name = None if self._phase is None else self._phase_name
        self.leave()
        self._end_generation()
        if was_whole:
            self.guard.announce(None)
        division.begin(left)
        self.generation(division.taken)
        if was_whole and self._generation is not None:
            number = division.unit or 1
            self._generation.means(f"{number:,} {_plural(unit, number)}")
        if name is not None:
            self.phase(name)
        return True

    def _end_generation(self) -> None:
        """End the current generation, so that what comes now is between two of them."""
        running, self._generation = self._generation, None
        if running is not None:
            running.__exit__(None, None, None)

    def phase(self, name: str) -> None:
        """Leave the current phase and enter the phase ``name``."""
        self.leave()
        if self._running:
            self._phase, self._phase_name = self.guard.phase(name), name
            self._phase.__enter__()

    def resume(self, name: str) -> None:
        """Enter the phase ``name`` unless a phase is open that is not over.

        For example, training resumes after an evaluation that interrupted it.
        """
        if self._phase is None or self._is_evaluated:
            self.phase(name)

    def leave(self) -> None:
        """Leave the current phase, if any."""
        running, self._phase, self._is_evaluated = self._phase, None, False
        if running is not None:
            running.__exit__(None, None, None)

    def end(self, error: BaseException | None = None) -> None:
        """End the run; if the user started the guard, the user's ``with`` block ends it.

        ``error`` is the exception that ended the loop, if any.
        """
        if self._running:
            self.leave()
            self._running, self._generation = False, None
            if self._owns and self.guard.running:
                self.guard.__exit__(None if error is None else type(error), error, None)


def _plural(noun: str, number: int) -> str:
    """Return ``batches of validation`` for several of ``batch of validation``."""
    if number == 1:
        return noun
    head, of, rest = noun.partition(" of ")
    return f"{head}{'es' if head.endswith('ch') else 's'}{of}{rest}"


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
