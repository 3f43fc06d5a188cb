"""Chooses the kind of step that is counted: the best kind that a program makes, as soon as known.

Rounds of a loop are counted whatever the program imports, because an optimizer may never step. The
counted kind is replaced by a better kind, and, once its loop is over, by the kind that comes after
it. In both cases the new kind must have lasted half as long as all that was counted before.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from leakguard.launch.main_wait import MainWait, Wait
from leakguard.launch.steps import LONG_ENOUGH, Rank, StepSource

#: Seconds for which a kind of step is observed before it may be counted. ``SETTLE_SECONDS`` applies
#: if the program may also make steps of a better ``Rank``, ``SOON_SETTLED`` if it may not. Chosen.
SETTLE_SECONDS, SOON_SETTLED = 0.5, 0.1
#: After the first step of a kind, no worse kind is chosen for this many seconds, because a second
#: step may follow. Chosen: a short wait is enough, because a better kind that comes later replaces
#: the counted kind. The replacement only repeats the first looks, in a new run.
PATIENCE_SECONDS = 1.0
#: A kind of step whose steps take longer than this number of seconds on average is ranked after all
#: other kinds. Chosen: fewer than six steps in a minute are too few to be the generations of a run
#: if the program also makes more frequent steps.
RARE_SECONDS = 10.0
#: A kind replaces the counted kind only after it has lasted this share of the time for which steps
#: were counted before. Chosen, below 1: caches that looks leave cold lengthen that time.
#: Not much below 1: an evaluation after a training seldom takes half as long as the training, so it
#: does not replace the training.
AS_LONG = 0.5
# Steps of a kind that is not counted are reported to ``Choice.told`` only now and then, because
# each report takes time. After n steps, the next report comes n / ``_SHARE_UNSEEN`` steps later.
# While another kind is counted, it comes at least ``_FEWEST_UNSEEN`` steps later. Chosen: a step
# then costs at most a quarter of a report on average.
_SHARE_UNSEEN, _FEWEST_UNSEEN = 16, 4


@dataclass(slots=True)
class Choice:
    """The kinds of steps of a program, and the counted kind, ``chosen``.

    ``was_preparation`` means that the loop of the counted kind is over and was only a preparation,
    so that another loop follows at once. ``main_wait`` returns what the main thread waits for.
    """

    clock: Callable[[], float]
    main_wait: Callable[[], Wait | None] = field(default_factory=MainWait)
    sources: list[StepSource] = field(default_factory=list)
    chosen: StepSource | None = None
    was_preparation: bool = False
    _begun: float = 0.0
    _over_at: float = math.inf

    def may_count(self, source: StepSource) -> bool:
        """Return whether ``source`` may be counted: a function the user named excludes others."""
        return source.rank is Rank.NAMED or all(s.rank is not Rank.NAMED for s in self.sources)

    def told(self, source: StepSource, most: int) -> int:
        """Record that a step begins of a kind that is not chosen; this may choose the kind.

        Returns:
            How many steps may pass before the next report, up to ``most``, including this one.
        """
        now = self.clock()
        source.saw(now)
        wait = self.main_wait() if source.rank is Rank.THREAD_LOOP else None
        if self._is_best(source, wait, now) and self._takes_over(source, wait, now):
            self._choose(source, now)
            return 1
        unseen = max(self._fewest_unseen(now), source.count // _SHARE_UNSEEN)
        passed = min(most, unseen)
        source.unseen = unseen - passed
        source.count += passed - 1
        return passed

    def goes_on(self, source: StepSource, number: int) -> None:
        """Record that ``number`` steps of the counted kind begin."""
        source.saw(self.clock(), number)
        self._over_at, self.was_preparation = math.inf, False

    def loop_over(self, *, was_preparation: bool) -> None:
        """Record that the loop of the counted kind is over, or the loop around it."""
        self._over_at, self.was_preparation = self.clock(), was_preparation

    def _choose(self, source: StepSource, now: float) -> None:
        if not self._begun:
            self._begun = now
        self.chosen, self._over_at, self.was_preparation = source, math.inf, False

    def _fewest_unseen(self, now: float) -> int:
        return 1 if self.chosen is None or self._until(now) < math.inf else _FEWEST_UNSEEN

    def _is_best(self, source: StepSource, wait: Wait | None, now: float) -> bool:
        """Return whether the program makes no better steps, as far as is known."""
        if not self._is_settled(source, now):
            return False
        merit = _merit(source, wait, now)
        return not any(
            self._is_rival(other, now) and _merit(other, wait, now) < merit
            for other in self.sources
            if other is not self.chosen
        )

    def _is_rival(self, other: StepSource, now: float) -> bool:
        """Return whether these steps are made, or may be: one step was seen a moment ago."""
        if other.count > 0 and now - other.first < PATIENCE_SECONDS:
            return True
        return self._is_settled(other, now) and not other.is_silent(now)

    def _is_settled(self, source: StepSource, now: float) -> bool:
        """Return whether enough steps were seen to know how often they come."""
        if source.rank is Rank.NAMED:
            return source.count > 0
        alone = all(other.rank >= source.rank for other in self.sources)
        clear = alone and source.period(now) >= LONG_ENOUGH[source.rank]
        settle = SOON_SETTLED if alone else SETTLE_SECONDS
        return source.count > 1 and (clear or now - source.first >= settle)

    def _takes_over(self, source: StepSource, wait: Wait | None, now: float) -> bool:
        """Return whether these steps have lasted long enough to replace the chosen ones."""
        chosen = self.chosen
        if chosen is None or (self.was_preparation and chosen.rank is source.rank):
            return True
        until = self._until(now)
        if _merit(source, wait, now) < (False, *_merit(chosen, wait, now)[1:]):
            since = source.first
        elif self._over_at < math.inf or source.first >= until:
            since = max(source.first, until)
        else:
            return False
        return now - since >= AS_LONG * (min(since, until) - self._begun)

    def _until(self, now: float) -> float:
        """Return when the counted kind was over; infinite while it continues.

        Kinds that are not loops do not report their end. Such a kind is over when it is silent and
        another kind has begun since.
        """
        chosen = self.chosen
        if chosen is None or chosen.rank.is_loop or not chosen.is_silent(now):
            return self._over_at
        return min(self._over_at, chosen.last)


def _merit(source: StepSource, wait: Wait | None, now: float) -> tuple[bool, Rank, bool]:
    """Return the key by which kinds of steps are compared; the lowest is the best.

    Steps that are too rare come last. Among the loops of other threads, the best is the loop of the
    thread that the main thread waits for.
    """
    awaited = wait is not None and wait.thread is not None and source.thread == wait.thread
    return source.period(now) > RARE_SECONDS and source.count > 1, source.rank, not awaited
