"""From steps to generations: which steps are counted, and how many make a generation."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from leakguard.capture.run_queue import program_clock
from leakguard.launch.main_wait import MainWait, Wait

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
#: How long one kind of step is watched before it is chosen.
SETTLE_SECONDS = 0.5
#: How long steps are waited for that would be better and have been seen once: an epoch's second.
PATIENCE_SECONDS = 10.0
#: The same where none was seen, but the program can make them: a replay buffer fills for 10,000
#: environment steps before the first optimizer step.
FIRST_STEP_SECONDS = 20.0
#: How long the main thread may take to come to its loop while others, such as those that load
#: batches, are in theirs, unless it waits for them to end.
MAIN_LOOP_SECONDS = 20.0
#: So many generations that take less than half of what the first ones should were grouped by a slow
#: beginning, and become longer at once: numbers alone take the guard 0.3 to 2 ms each.
TOO_SHORT = 8
#: A loop that ended after fewer generations was a preparation; the next one may be the training.
PREPARATION = 10
#: After more it may be so, too: the next one is counted once it has lasted this share of its time.
#: Chosen: below one, since the first looks and traces make the earlier one slower than it is; an
#: evaluation after a training seldom takes half of its time.
AS_LONG = 0.5


class Rank(IntEnum):
    """How much a kind of step says about where a generation begins; the lowest is the best."""

    NAMED = 0
    FRAMEWORK = 1
    OPTIMIZER = 2
    RESET = 3
    LOOP = 4
    THREAD_LOOP = 5


# A step that takes this long, in seconds, is a generation of its own; several optimizer steps
# or episodes always differ from one another, so that only longer ones are. Rounds of a loop are as
# soon as the numbers of a generation, 0.3 to 2 ms, are a small part of them: a loaded machine
# doubles how long they take, and a script of sixty rounds must get enough generations either way.
_LONG_ENOUGH = {
    Rank.NAMED: 0.02,
    Rank.FRAMEWORK: 0.05,
    Rank.OPTIMIZER: 0.2,
    Rank.RESET: 0.2,
    Rank.LOOP: 0.005,
    Rank.THREAD_LOOP: 0.005,
}
# How long steps are timed, in seconds, where nothing better is known of.
_SOON_SETTLED = 0.1
# Rounds after which a loop tells again of itself that began while a preparation may be counted: a
# Python call then costs each of them a sixteenth. Chosen.
_AGAIN = 16
# So many short steps in a row show that the slow one before them was the exception. Chosen.
_PROVEN_SHORT = 2
# Share of FULL_SECONDS that is enough: doubled, a generation is nearer to it from here on.
_NEAR = 0.7
# A loop of shorter rounds than the second, in seconds, that is over before the first, may be one
# that another loop repeats.
_SOON, _SHORT_ROUND = 2.0, 0.02


@dataclass(slots=True, eq=False)
class StepSource:
    """One kind of step, such as optimizer steps; ``unit`` and ``detail`` are its words.

    ``begins`` says that a step begins when it is told of, so that the last one is whole when the
    program is over; an optimizer tells when it has stepped. ``expected`` says that the program can
    make such steps, though none was seen. ``thread`` is the thread whose loop it is, where that is
    not the main one. ``since`` is how many generations there were before it.
    """

    rank: Rank
    unit: str
    detail: str = ""
    begins: bool = True
    expected: bool = False
    thread: int | None = None
    count: int = 0
    first: float = math.inf
    since: int = 0

    def words(self, number: int) -> str:
        """Return so many of them in words: ``50 optimizer steps``."""
        plural = "" if number == 1 else "s"
        return f"{number:,} {self.unit}{plural}{self.detail}"

    def period(self, now: float) -> float:
        """Return how long one takes, in seconds, if one begins now; infinite for the first."""
        return (now - self.first) / (self.count - 1) if self.count > 1 else math.inf


class Begin(Protocol):
    """Begins a generation; ``what`` says what one is, ``number`` which one, of ``taken`` at once.

    Generations are counted in the size that they began with, whatever they have come to: what
    grows at an even pace then gains the same from number to number.
    """

    def __call__(self, what: str, number: int, taken: int) -> Callable[[], None]:
        """Return what ends the generation."""


@dataclass(slots=True)
class Pace:
    """Picks the best kind of step a program makes, and begins a generation every so many.

    Threads may tell of their steps at the same time: while one of them begins a generation, steps
    of the others are not counted.

    ``over`` is called when the loop that is counted ends, or the one around the steps that are,
    while its function still has its locals; ``anew`` where a loop is counted from here on, and from
    generation 1, that lasts about as long as the one before. ``main_wait`` says what the main
    thread waits for.
    """

    begin: Begin
    every: int | None = None
    over: Callable[[], None] = lambda: None
    anew: Callable[[], None] = lambda: None
    clock: Callable[[], float] = program_clock
    main_wait: Callable[[], Wait | None] = field(default_factory=MainWait)
    sources: list[StepSource] = field(default_factory=list)
    chosen: StepSource | None = None
    generations: int = 0
    _number: int = 0
    _unit: int = 1
    _size: int = 1
    _left: int = 0
    _of_this_size: int = 0
    _since: float = 0.0
    _chosen_at: float = 0.0
    _free_since: float = -math.inf
    _lasted: float | None = None
    _full: float = FULL_SECONDS
    _is_grouped: bool = False
    _begun_at: float = 0.0
    _short_in_a_row: int = 0
    _rounds: int = 0
    _end: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def many(self) -> bool:
        """True where generations were given their length here: there will most likely be many."""
        return self.every is None and self._is_grouped

    def add(self, source: StepSource) -> StepSource:
        """Take a kind of step into the choice."""
        source.since = self.generations
        self.sources.append(source)
        return source

    def step(self, source: StepSource, most: int = 1) -> int:
        """Take up to ``most`` steps that begin now; return after how many to tell again."""
        if source is not self.chosen and not self._may_count(source):
            is_young = self.chosen is not None and self.generations < PREPARATION
            return min(most, _AGAIN) if is_young else most
        if source is not self.chosen or self._left <= 0:
            if not self._lock.acquire(blocking=False):
                return 1
            try:
                passed = most if source is self.chosen else self._note(source, most)
                if source is not self.chosen:
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
        if source in self.sources:
            self.sources.remove(source)
        if source is not self.chosen:
            if self._is_around_chosen(source):
                self.over()
            return
        if whole and self._left == 0:
            self.end_generation()
        self.over()
        self._free_since = self.clock()
        if self.generations < PREPARATION or self._was_soon_over():
            self.chosen, self._left = None, 0
        else:
            self._lasted = self._free_since - self._chosen_at

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

    def _may_count(self, source: StepSource) -> bool:
        """Return whether these steps may come to be counted.

        Nothing else is, or no longer, and the user has not named a function of which it is another.
        """
        if self.chosen is not None and self._lasted is None:
            return False
        return source.rank is Rank.NAMED or all(s.rank is not Rank.NAMED for s in self.sources)

    def _note(self, source: StepSource, most: int) -> int:
        """Count steps while none is chosen; a fast loop tells of many at once."""
        now = self.clock()
        source.first = min(source.first, now)
        source.count += 1
        wait = self.main_wait() if source.rank is Rank.THREAD_LOOP else None
        settled = [s for s in self.sources if self._settled(s, now)]
        best = min(settled, default=None, key=lambda s: (s.rank, not _is_awaited(s, wait)))
        may_come = best is source and self._better_may_come(best, wait, now)
        if best is source and not may_come and self._takes_over(best, now):
            self._choose(source, source.period(now))
        passed = min(most, max(1, source.count // 16))
        source.count += passed - 1
        return passed

    def _settled(self, source: StepSource, now: float) -> bool:
        """Return whether enough steps were seen to tell how often they come."""
        if source.rank is Rank.NAMED:
            return source.count > 0
        alone = all(other.rank >= source.rank for other in self.sources)
        clear = alone and _is_long(source, source.period(now))
        settle = _SOON_SETTLED if alone else SETTLE_SECONDS
        return source.count > 1 and (clear or now - source.first >= settle)

    def _takes_over(self, source: StepSource, now: float) -> bool:
        """Return whether these steps are no short epilogue to a loop that is over."""
        if self._lasted is None:
            return True
        return now - max(source.first, self._free_since) >= AS_LONG * self._lasted

    def _better_may_come(self, best: StepSource, wait: Wait | None, now: float) -> bool:
        better = [source for source in self.sources if source.rank < best.rank]
        if best.rank is Rank.THREAD_LOOP:
            if self._better_loop_may_come(best, wait, now):
                return True
            better = [source for source in better if source.rank < Rank.LOOP]
        begun = any(s.count and now - s.first < PATIENCE_SECONDS for s in better)
        waited = now - best.first >= FIRST_STEP_SECONDS
        return begun or (not waited and any(s.expected and not s.count for s in better))

    def _better_loop_may_come(self, best: StepSource, wait: Wait | None, now: float) -> bool:
        """Return whether the loop of a thread is one of those that feed another one.

        That one is of the main thread, which may be slower to come to its second round, or of the
        thread whose end that waits for. What others work out a main thread may go over in a loop,
        if it has begun one.
        """
        waited = now - max(best.first, self._free_since)
        if wait is not None and wait.thread is not None:
            return waited < PATIENCE_SECONDS and not _is_awaited(best, wait)
        loops = any(source.rank is Rank.LOOP and source.count for source in self.sources)
        return waited < MAIN_LOOP_SECONDS and (wait is None or loops)

    def _choose(self, source: StepSource, period: float) -> None:
        """Count these steps from now on; each takes ``period`` seconds."""
        if self._lasted is not None:
            self._number, self._lasted, self._end = 0, None, None
            self.anew()
        self.chosen = source
        self._rounds = self._short_in_a_row = 0
        self._is_grouped = not _is_long(source, period)
        self._unit = self.every or (_rounded(AIM_SECONDS / period) if self._is_grouped else 1)
        self._full = FULL_SECONDS if self._is_grouped else FULL_STEP_SECONDS
        self._resize(self._unit)
        self._left, self._chosen_at = 0, self.clock()

    def _begin_generation(self, source: StepSource) -> None:
        self._end = None  # a generation that was called ends when the next one is
        self._check_length(source)
        self._check_size(source)
        self._left = self._size
        self._of_this_size += 1
        self.generations += 1
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
        soon = min(_long_enough(source), AIM_SECONDS)
        if seconds < soon / 2:
            self._resize(self._size * 2 ** math.ceil(math.log2(soon / seconds)))
        elif count >= (FEWEST_OF_A_SIZE if seconds < _NEAR * self._full else SAME_SIZE):
            self._resize(2 * self._size)

    def _resize(self, size: int) -> None:
        """Let so many steps make a generation from now on."""
        self._size = size
        self._of_this_size, self._since = 0, self.clock()


def _is_awaited(source: StepSource, wait: Wait | None) -> bool:
    """Return whether the main thread waits for the end of the thread whose loop it is."""
    return wait is not None and wait.thread is not None and source.thread == wait.thread


def _is_long(source: StepSource, period: float) -> bool:
    return period >= _long_enough(source)


def _long_enough(source: StepSource) -> float:
    return _LONG_ENOUGH[source.rank]


def _rounded(number: float) -> int:
    """Return 1, 2 or 5 times a power of ten, the nearest."""
    if number < 1:
        return 1
    power: int = 10 ** math.floor(math.log10(number))
    return power * min((1, 2, 5, 10), key=lambda digit: abs(math.log(digit * power / number)))
