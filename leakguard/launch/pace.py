"""From steps to generations: how many of those that are counted make one."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from leakguard.capture.run_queue import program_clock
from leakguard.launch.choice import Choice
from leakguard.launch.main_wait import MainWait, Wait
from leakguard.launch.steps import LONG_ENOUGH, Rank, StepSource

#: The first generations of grouped steps take about this long. A run may be over after a second,
#: and small generations can be taken together later, where large ones can't be taken apart. Chosen:
#: ten times what the numbers of a generation cost.
AIM_SECONDS = 0.02
#: They become twice as long, again and again, until they take so long.
FULL_SECONDS = 0.4
#: Those that are a single step do while they take less. Chosen: the numbers cost 1 % of it.
FULL_STEP_SECONDS = 0.1
#: So many generations of one size there are at least before they become twice as long, and so many
#: at the most: some 300 in the first minute, 1,000 in an hour, 3,000 in a day.
FEWEST_OF_A_SIZE, SAME_SIZE = 32, 300
#: So many generations that take less than half of what the first ones should were grouped by a slow
#: beginning, and become longer at once: numbers alone take the guard 0.3 to 2 ms each.
TOO_SHORT = 8
#: A loop that ended after fewer generations was a preparation; the next one may be the training.
PREPARATION = 10
# So many short steps in a row show that the slow one before them was the exception. Chosen.
_PROVEN_SHORT = 2
# Share of FULL_SECONDS that is enough: doubled, a generation is nearer to it from here on.
_NEAR = 0.7
# A loop of shorter rounds than the second, in seconds, that is over before the first, may be one
# that another loop repeats.
_SOON, _SHORT_ROUND = 2.0, 0.02


class Begin(Protocol):
    """Begins a generation; ``what`` says what one is, ``number`` which one, of ``taken`` at once.

    Generations are counted in the size that they began with, whatever they have come to: what
    grows at an even pace then gains the same from number to number.
    """

    def __call__(self, what: str, number: int, taken: int) -> Callable[[], None]:
        """Return what ends the generation."""


@dataclass(slots=True)
class Pace:
    """Begins a generation every so many steps of the kind that is counted; see ``Choice``.

    Threads may tell of their steps at the same time: while one of them begins a generation, steps
    of the others are not counted.

    ``over`` is called when the loop that is counted ends, or the one around the steps that are,
    while its function still has its locals; ``anew`` where something else is counted from here on,
    and from generation 1.
    """

    begin: Begin
    every: int | None = None
    over: Callable[[], None] = lambda: None
    anew: Callable[[], None] = lambda: None
    clock: Callable[[], float] = program_clock
    main_wait: Callable[[], Wait | None] = field(default_factory=MainWait)
    generations: int = 0
    _choice: Choice = field(init=False)
    _counted: StepSource | None = None
    _number: int = 0
    _unit: int = 1
    _size: int = 1
    _left: int = 0
    _of_this_run: int = 0
    _of_this_size: int = 0
    _since: float = 0.0
    _chosen_at: float = 0.0
    _full: float = FULL_SECONDS
    _is_grouped: bool = False
    _begun_at: float = 0.0
    _short_in_a_row: int = 0
    _rounds: int = 0
    _end: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._choice = Choice(self.clock, self.main_wait)

    @property
    def chosen(self) -> StepSource | None:
        """The kind of step that is counted; none after a preparation."""
        return None if self._choice.was_preparation else self._choice.chosen

    @property
    def many(self) -> bool:
        """True where generations were given their length here: there will most likely be many."""
        return self.every is None and self._is_grouped

    def add(self, source: StepSource) -> StepSource:
        """Take a kind of step into the choice."""
        source.since = self.generations
        self._choice.sources.append(source)
        return source

    def step(self, source: StepSource, most: int = 1) -> int:
        """Take up to ``most`` steps that begin now; return after how many to tell again."""
        choice = self._choice
        if source is not choice.chosen and source.unseen > 0:
            source.unseen -= 1
            source.count += 1
            return 1
        if source is not choice.chosen and not choice.may_count(source):
            return most
        if source is not choice.chosen or self._left <= 0:
            if not self._lock.acquire(blocking=False):
                return 1
            try:
                passed = most if source is choice.chosen else self._told(source, most)
                if source is not choice.chosen:
                    return passed
                if self._left <= 0:
                    self._begin_generation(source)
            finally:
                self._lock.release()
        passed = min(most, self._left)
        self._left -= passed
        self._rounds += passed
        return passed

    def ended(self, source: StepSource, *, whole: bool) -> None:
        """Take that a loop is over; ``whole`` says that its last round was."""
        if source in self._choice.sources:
            self._choice.sources.remove(source)
        is_counted = source is self.chosen
        if not is_counted and not self._is_around_chosen(source):
            return
        if is_counted and whole and self._left == 0:
            self.end_generation()
        self.over()
        is_short = self._of_this_run < PREPARATION or (is_counted and self._was_soon_over())
        self._choice.loop_over(was_preparation=is_short)

    def _is_around_chosen(self, source: StepSource) -> bool:
        """Return whether the steps that are counted lie in the loop that ends, as far as is known.

        The loops of other threads run beside that of the main thread.
        """
        if self.chosen is None or self.generations <= source.since:
            return False
        return source.rank is not Rank.THREAD_LOOP or self.chosen.rank is not Rank.LOOP

    def _was_soon_over(self) -> bool:
        """Return whether the loop of short rounds that ends may be a part of another one."""
        lasted = self.clock() - self._chosen_at
        return lasted < min(_SOON, _SHORT_ROUND * self._rounds)

    def finish(self) -> None:
        """End the last generation of a program that is over, if all of its steps were made."""
        if self.chosen is not None and self.chosen.begins and self._left == 0:
            self.end_generation()

    def end_generation(self) -> None:
        """End the running generation, if there is one."""
        end, self._end = self._end, None
        if end is not None:
            end()

    def _told(self, source: StepSource, most: int) -> int:
        """Take a step that is not counted; from here on it may be."""
        was_preparation = self._choice.was_preparation
        passed = self._choice.told(source, most)
        if self._choice.chosen is source:
            self._count(source, was_preparation=was_preparation)
        return passed

    def _count(self, source: StepSource, *, was_preparation: bool) -> None:
        """Count these steps from now on, in a run of their own unless a loop was a preparation."""
        now, before = self.clock(), self._counted
        if before is not None and not (was_preparation and before.rank is source.rank):
            self._number = self._of_this_run = 0
            self._end = None
            self.anew()
        self._counted, self._chosen_at = source, now
        self._rounds = self._short_in_a_row = 0
        period = source.period(now)
        self._is_grouped = not _is_long(source, period)
        self._unit = self.every or (_rounded(AIM_SECONDS / period) if self._is_grouped else 1)
        self._full = FULL_SECONDS if self._is_grouped else FULL_STEP_SECONDS
        self._resize(self._unit)
        self._left = 0

    def _begin_generation(self, source: StepSource) -> None:
        self._end = None  # a generation that was called ends when the next one is
        self._check_length(source)
        self._check_size(source)
        self._left = self._size
        self._of_this_size += 1
        self._of_this_run += 1
        self.generations += 1
        self._choice.goes_on(source, self._size)
        taken = self._size // self._unit
        self._number += taken
        self._end = self.begin(source.words(self._unit), self._number, taken)
        self._begun_at = self.clock() if self._may_prove_short else 0.0

    @property
    def _may_prove_short(self) -> bool:
        return self.every is None and not self._is_grouped

    def _check_length(self, source: StepSource) -> None:
        """Take it that there will be many where the first step was slow, and those after it not.

        The first step of an optimizer, from which it was chosen, imports and allocates.
        """
        if not self._may_prove_short or not self._of_this_size:
            return
        seconds = (self.clock() - self._begun_at) / self._size
        self._short_in_a_row = 0 if _is_long(source, seconds) else self._short_in_a_row + 1
        if self._short_in_a_row >= _PROVEN_SHORT:
            self._is_grouped, self._full = True, FULL_SECONDS

    def _check_size(self, source: StepSource) -> None:
        """Let the next generations be longer where these have become many for the time they took.

        A machine with much else to do makes them take longer, and so only more of them.
        """
        count = self._of_this_size
        if self.every is not None or count < TOO_SHORT:
            return
        seconds = max((self.clock() - self._since) / count, 1e-6)
        soon = min(LONG_ENOUGH[source.rank], AIM_SECONDS)
        if seconds < soon / 2:
            self._resize(self._size * 2 ** math.ceil(math.log2(soon / seconds)))
        elif count >= (FEWEST_OF_A_SIZE if seconds < _NEAR * self._full else SAME_SIZE):
            self._resize(2 * self._size)

    def _resize(self, size: int) -> None:
        """Let so many steps make a generation from now on."""
        self._size = size
        self._of_this_size, self._since = 0, self.clock()


def _is_long(source: StepSource, period: float) -> bool:
    return period >= LONG_ENOUGH[source.rank]


def _rounded(number: float) -> int:
    """Return 1, 2 or 5 times a power of ten, the nearest."""
    if number < 1:
        return 1
    power: int = 10 ** math.floor(math.log10(number))
    return power * min((1, 2, 5, 10), key=lambda digit: abs(math.log(digit * power / number)))
