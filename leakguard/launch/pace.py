"""Groups the counted steps into generations."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from typing import Protocol

from leakguard.capture.run_queue import program_clock
from leakguard.launch.choice import Choice
from leakguard.launch.main_wait import MainWait, Wait
from leakguard.launch.own_clock import OwnClock
from leakguard.launch.steps import LONG_ENOUGH, Rank, StepSource

#: Seconds that the first generations of grouped steps should take. Chosen, short: a program may be
#: over after a second, and in a long run short generations can be merged. Reading the metrics after
#: a generation takes 0.3 to 2 ms, at most a tenth of this.
AIM_SECONDS = 0.02
#: Generations of grouped steps are doubled in length, again and again, until they take about this
#: many seconds. Chosen.
FULL_SECONDS = 0.4
#: Generations that begin as one step each are doubled in length until they take about this many
#: seconds. Chosen: reading the metrics after a generation takes about 1 ms, 1 % of the generation.
FULL_STEP_SECONDS = 0.1
#: Generations of one size that must be complete before the size is doubled: ``FEWEST_OF_A_SIZE``
#: while the generations are short, then ``SAME_SIZE``. Chosen: if the first generations take
#: ``AIM_SECONDS``, there are about 300 generations in the first minute, 1,700 in the first hour,
#: and 3,000 in the first day.
FEWEST_OF_A_SIZE, SAME_SIZE = 32, 300
#: After this many generations of one size, the size is checked for the first time. Generations may
#: be too short, because the size was derived from steps that were unusually slow. They are too
#: short if they take less than half of the lesser of ``AIM_SECONDS`` and ``LONG_ENOUGH``. Then the
#: size is raised at once. Chosen, low: reading the metrics after each generation takes 0.3 to 2 ms,
#: which is much for a short generation.
TOO_SHORT = 8
#: A loop that ends after fewer generations than this is taken for a preparation. The next loop of
#: the same ``Rank`` is then counted without having to last a minimum time (``choice.AS_LONG``).
#: Chosen.
PREPARATION = 10
# This many consecutive short steps show that the slow step before them was an exception. Chosen.
_PROVEN_SHORT = 2
# Generations are long enough if they take at least this share of ``FULL_SECONDS`` or
# ``FULL_STEP_SECONDS``. Derived: the square root of 1/2, rounded. This share and its double, 1.4,
# are equally far from 1 by ratio. Doubling longer generations leads further away.
_NEAR = 0.7
# Seconds to wait for another thread's report. Chosen: thousands of times what a report takes.
_WAIT_FOR_REPORT = 0.1
# A loop that is over within ``_SOON`` seconds, and whose rounds took less than ``_SHORT_ROUND``
# seconds on average, may be the inner loop of another loop. Chosen.
_SOON, _SHORT_ROUND = 2.0, 0.02


class Begin(Protocol):
    """Begins a generation.

    ``what`` says what a generation is. ``number`` is the generation's number, and ``taken`` is how
    many generations it stands for. Generations are counted in the size of the first ones, however
    long they have become. Steady growth then adds the same from number to number.
    """

    def __call__(self, what: str, number: int, taken: int) -> Callable[[], None]:
        """Return the function that ends the generation."""


@dataclass(slots=True)
class Pace:
    """Begins a generation every so many steps of the counted kind; see ``Choice``.

    Several threads may report steps at the same time. While one of them begins a generation, steps
    of the others are not counted. ``_teller`` is the thread that reports a step and begins none.

    ``over`` is called when the counted loop ends, or a loop around the counted steps, while its
    function still has its locals; it is told whether no other loop goes on around that one.
    ``anew`` is called when another kind is counted from now on, starting at generation 1.
    """

    begin: Begin
    every: int | None = None
    over: Callable[[bool], None] = lambda _: None
    anew: Callable[[], None] = lambda: None
    clock: Callable[[], float] = program_clock
    main_wait: Callable[[], Wait | None] = field(default_factory=MainWait)
    generations: int = 0
    _own: OwnClock = field(init=False)
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
    _teller: int | None = None

    def __post_init__(self) -> None:
        self._own = OwnClock(self.clock)
        self._choice = Choice(self._own, self.main_wait)

    @property
    def chosen(self) -> StepSource | None:
        """The kind of step that is counted; None after a preparation."""
        return None if self._choice.was_preparation else self._choice.chosen

    def add(self, source: StepSource) -> StepSource:
        """Add a kind of step to the choice."""
        source.since = self.generations
        self._choice.sources.append(source)
        return source

    def step(self, source: StepSource, most: int = 1) -> int:
        """Record up to ``most`` steps that begin now; return after how many to report again."""
        choice = self._choice
        if source is not choice.chosen and source.unseen > 0:
            source.unseen -= 1
            source.count += 1
            return 1
        if source is not choice.chosen and not choice.may_count(source):
            return most
        if source is not choice.chosen or self._left <= 0:
            if not self._enter(source):
                return 1
            try:
                passed = most if source is choice.chosen else self._told(source, most)
                if source is not choice.chosen:
                    return passed
                self._teller = None
                if self._left <= 0:
                    self._begin_generation(source)
            finally:
                self._teller = None
                self._lock.release()
        passed = min(most, self._left)
        self._left -= passed
        self._rounds += passed
        return passed

    def _enter(self, source: StepSource) -> bool:
        """Take the lock for a step of this kind; return False if the step is not to be recorded.

        A counted step waits for the other thread that tells of a kind that is not counted: that
        takes microseconds, and a round would be missing. It does not wait for a generation.
        """
        if not self._lock.acquire(blocking=False):
            is_told_elsewhere = self._teller not in (None, get_ident())
            if source is not self._choice.chosen or not is_told_elsewhere:
                return False
            if not self._lock.acquire(timeout=_WAIT_FOR_REPORT):
                self._teller = None  # that thread is gone, as in a forked child
                return False
        self._teller = get_ident()
        return True

    def ended(self, source: StepSource, *, whole: bool) -> None:
        """Record that a loop is over; ``whole`` is true if its last round was complete."""
        is_outermost = not self._is_inside_another(source)
        if source in self._choice.sources:
            self._choice.sources.remove(source)
        is_counted = source is self.chosen
        if not is_counted and not self._is_around_chosen(source):
            return
        if is_counted and whole and self._left == 0:
            self.end_generation()
        self._own.apart(lambda: self.over(is_outermost))
        is_short = self._of_this_run < PREPARATION or (is_counted and self._was_soon_over())
        self._choice.loop_over(was_preparation=is_short)

    def _is_around_chosen(self, source: StepSource) -> bool:
        """Return whether the counted steps are in the loop that ends, as far as is known.

        The loops of other threads run in parallel to the loop of the main thread.
        """
        if self.chosen is None or self.generations <= source.since:
            return False
        return source.rank is not Rank.THREAD_LOOP or self.chosen.rank is not Rank.LOOP

    def _is_inside_another(self, source: StepSource) -> bool:
        """Return whether a loop that began before this one, in the same thread, goes on."""
        earlier = itertools.takewhile(lambda other: other is not source, self._choice.sources)
        return any(other.rank.is_loop and other.thread == source.thread for other in earlier)

    def _was_soon_over(self) -> bool:
        """Return whether the ending loop of short rounds may be a part of another loop."""
        lasted = self.clock() - self._chosen_at
        return lasted < min(_SOON, _SHORT_ROUND * self._rounds)

    def finish(self) -> None:
        """End the last generation of a program that is over, if all of its steps were made."""
        if self.chosen is not None and self.chosen.begins and self._left == 0:
            self.end_generation()

    def end_generation(self) -> None:
        """End the current generation, if there is one."""
        end, self._end = self._end, None
        if end is not None:
            self._own.apart(end)

    def _told(self, source: StepSource, most: int) -> int:
        """Record a step of a kind that is not counted; this may choose the kind."""
        was_preparation = self._choice.was_preparation
        passed = self._choice.told(source, most)
        if self._choice.chosen is source:
            self._count(source, was_preparation=was_preparation)
        return passed

    def _count(self, source: StepSource, *, was_preparation: bool) -> None:
        """Count these steps from now on, in a separate run unless they follow a preparation."""
        now, before = self.clock(), self._counted
        if before is not None and not (was_preparation and before.rank is source.rank):
            self._number = self._of_this_run = 0
            self._end = None
            self.anew()
        self._counted, self._chosen_at = source, now
        self._rounds = self._short_in_a_row = 0
        period = source.period(self._own())
        self._is_grouped = not _is_long(source, period)
        self._unit = self.every or (_rounded(AIM_SECONDS / period) if self._is_grouped else 1)
        self._full = FULL_SECONDS if self._is_grouped else FULL_STEP_SECONDS
        self._resize(self._unit)
        self._left = 0

    def _begin_generation(self, source: StepSource) -> None:
        self._end = None  # a generation that a call began ends when the next one begins
        self._check_length(source)
        self._check_size(source)
        self._left = self._size
        self._of_this_size += 1
        self._of_this_run += 1
        self.generations += 1
        self._choice.goes_on(source, self._size)
        taken = self._size // self._unit
        self._number += taken
        words = source.words(self._unit)
        self._end = self._own.apart(lambda: self.begin(words, self._number, taken))
        self._begun_at = self.clock() if self._may_prove_short else 0.0

    @property
    def _may_prove_short(self) -> bool:
        return self.every is None and not self._is_grouped

    def _check_length(self, source: StepSource) -> None:
        """Expect many generations if only the first step was slow.

        The first step of an optimizer, from which the length was chosen, imports and allocates.
        """
        if not self._may_prove_short or not self._of_this_size:
            return
        seconds = (self.clock() - self._begun_at) / self._size
        self._short_in_a_row = 0 if _is_long(source, seconds) else self._short_in_a_row + 1
        if self._short_in_a_row >= _PROVEN_SHORT:
            self._is_grouped, self._full = True, FULL_SECONDS

    def _check_size(self, source: StepSource) -> None:
        """Make the next generations longer if there have been many for the time that they took.

        On a busy machine generations take longer, which only leads to more of them.
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
        """Let a generation have ``size`` steps from now on."""
        self._size = size
        self._of_this_size, self._since = 0, self.clock()


def _is_long(source: StepSource, period: float) -> bool:
    return period >= LONG_ENOUGH[source.rank]


def _rounded(number: float) -> int:
    """Return the nearest number that is 1, 2 or 5 times a power of ten."""
    if number < 1:
        return 1
    power: int = 10 ** math.floor(math.log10(number))
    return power * min((1, 2, 5, 10), key=lambda digit: abs(math.log(digit * power / number)))
