"""Decides at which generations a look is taken, and how deep: a few at first, then ever fewer.

A run pays for its looks in seconds of the guard's own work, and of page faults of the program
after looks in a copy. It may spend:

* in any run: ``FIXED_SECONDS``, so that a short run gets an answer too;
* over time: three fifths of ``max_overhead`` of the program's time, not counting time in which
  other programs had the processors;
* while memory, threads or files rise: ``RISING_SHARE`` of the program's time
  (``RISING_SHARE_OF_LONG`` in a long loop), at most ``RISING_SECONDS`` in all;
* once a look has seen objects grow: ``GROWING_SECONDS``, for looks of at most ``CHEAP_SECONDS``
  each, to find their holders;
* before the loop: a first walk and a census, if each costs at most a fifth of ``FIXED_SECONDS``.

The early generations depend on what is known of the loop:

* at most ``SHORT`` generations: a look at each, for up to ``SHORT_SECONDS`` in all with the one at
  the end, and while nothing grows up to ``EARLY_SHARE`` of their time, but at least
  ``OWED_SECONDS``;
* unknown length: a look at each of the first ``SHORT``, for up to ``EARLY_SHARE`` of their time;
* most likely long: ``FIRST_OF_LONG`` looks in the first ``SHORT * APART`` generations, ``APART``
  generations apart; if something grows, ``SHORT`` looks, half as far apart.

A look is always taken at the second generation, the middle one of a loop of known length, and the
last.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum

from leakguard.capture.heap import LONGEST
from leakguard.live.heights import Heights
from leakguard.live.meter import CostMeter

#: The reason of the look at the end of the last generation.
LAST = "last generation"
#: Seconds that any run may spend. Measured: a look at a small program costs 6 ms, and 22 ms on a
#: busy machine. So the seconds pay for at least the first 13 looks.
FIXED_SECONDS = 0.3
#: While something rises, a run may spend the share ``RISING_SHARE`` of the program's time in
#: addition, but at most ``RISING_SECONDS``. Chosen: after 20 s, both are 1 s, which pays for two
#: walks of 1,000,000 objects. In a long loop, ``RISING_SECONDS`` also limits the early looks.
RISING_SECONDS = 1.0
RISING_SHARE = 0.05
#: ``RISING_SHARE`` in a long loop. Most trainings fill a buffer for minutes, so memory rises
#: without a leak; the early looks and the last look suffice to see a leak. Chosen: the guard then
#: takes less than 2 % of a training of a minute with torch.
RISING_SHARE_OF_LONG = 0.005
#: Seconds that a run may spend once objects grow. Measured: in a small program, a census takes 6 ms
#: and a look at holders 27 ms; on a machine that is half as fast, both together take 66 ms. Chosen:
#: 0.6 s pay for nine censuses and nine looks at holders on the slower machine.
GROWING_SECONDS = 0.6
#: The highest expected cost, in seconds, of a look that ``GROWING_SECONDS`` may pay for. Chosen:
#: 0.6 s pay for four looks of this cost.
CHEAP_SECONDS = 0.15
#: A loop of at most this many generations is short: each of its generations gets a look. Chosen.
SHORT = 12
#: Seconds that all looks in a short loop may take together. Chosen: 6 s pay for 12 looks at a
#: million objects on a busy machine, two of them at holders.
SHORT_SECONDS = 6.0
#: Early looks in a long loop if nothing grows, in addition to the look at the second generation.
#: Chosen: three looks are needed to judge growth.
FIRST_OF_LONG = 2
#: Distance in generations between the early looks in a long loop. The looks are at generations 2, 8
#: and 16. A long loop has small generations at first (see ``launch.pace``), so looks at consecutive
#: generations could all miss work that is done only in every twentieth step. Chosen.
APART = 8
#: Share of the program's time so far that early looks may take in a loop of unknown length. The
#: share is high because the loop may be short. Chosen: the shortest trainings have six generations
#: of half a second. Half of these 3 s pays for six looks of 0.25 s.
EARLY_SHARE = 0.5
#: The looks at the second, the middle and the last generation are taken even if nothing is left to
#: spend, until they have taken ``OWED_SECONDS`` of CPU time, or the share ``OWED_SHARE`` of the
#: program's time if that is more. Chosen: what a person would wait for.
OWED_SECONDS, OWED_SHARE = 2.0, 0.05
#: CPU seconds that a look may always take before it is aborted. Chosen: an autograd graph of 27,000
#: nodes took 1.5 s, and more than 2 s beside a busy process; what is aborted was paid for nothing.
SHORTEST_LIMIT = 3.0
#: A look may always take this many times its expected cost before it is aborted. Chosen: more than
#: 2, because a look takes twice as long if it has to search for holders.
TIMES_USUAL = 4.0
# Share of ``max_overhead`` that is spent. The guard's clock misses the cold caches after a look,
# and the diagnosis at the end of the run. Measured: a guard that had spent 0.65 % by its own clock
# cost 1.1 % (reports/overhead).
_AIM = 0.6
# A look before the loop may cost at most a ``_BEFORE_LOOP``-th part of ``FIXED_SECONDS``: 60 ms. A
# look is expensive if it costs more than a ``_NOT_DEAR``-th part: 30 ms. Chosen.
_BEFORE_LOOP, _NOT_DEAR = 5, 10
# Factor from one distance between looks to the next. Chosen: 16 looks in 60 generations, 26 in 600.
_GROWTH = 1.25
# The first distance between two looks, in generations: 0.64. A distance is varied by up to 30 %
# (``_SWAY``) and rounded to at least 1. Derived: the first three distances, 0.64, 0.8 and 1, are
# all rounded to 1, so the first four looks are at consecutive generations.
_FIRST = _GROWTH**-2
# The distance to the next look once a rise begins or objects begin to grow, in generations: 0.512.
# Derived: 0.512 and the distances after it, 0.64, 0.8 and 1, are all rounded to 1, so five looks
# are at consecutive generations.
_AFTER_NEWS = _GROWTH**-3
# Random variation of a distance, as a share of it. It prevents looks from always coming at the same
# point of a period of the program. Chosen.
_SWAY = 0.3
# Looks at holders that are kept in reserve for a late rise. Chosen.
_RESERVED = 8
# The expected cost of a look is the highest cost among this many recent looks, because the cost
# varies with the contents of caches.
_REMEMBERED = 3


class Depth(IntEnum):
    """How deep a look goes; each depth includes the ones before."""

    NUMBERS = 0
    CENSUS = 1
    HOLDERS = 2


# The expected cost of a look before the first one was measured: seconds of any look, and seconds
# per block of Python's allocator. Derived from measured costs, each at two sizes of the heap:
# * compiled census of a training with torch and its compiler: 66 ms with 540,000 blocks, 125 ms
#   with 1,090,000. If all objects are alike, a compiled census costs less: 70 ms with 2,560,000
#   blocks;
# * compiled look at holders: 27 ms with 65,000 blocks, 440 ms with 2,560,000;
# * census in pure Python: 38 ms with 65,000 blocks, 85 ms with 315,000;
# * look at holders in pure Python: 370 ms with 65,000 blocks, 1,610 ms with 315,000.
_GUESSES = {
    "compiled": {Depth.CENSUS: (4e-3, 110e-9), Depth.HOLDERS: (15e-3, 180e-9)},
    "python": {Depth.CENSUS: (25e-3, 200e-9), Depth.HOLDERS: (25e-3, 5.3e-6)},
}
# Index of the generation that always gets the first look: the second. Growth needs a start to be
# measured from, and the first generation is a warm-up.
_BEGINNING = 1


class Prices:
    """The expected cost of a look at each depth, from the latest looks."""

    def __init__(self, engine: str, blocks: int) -> None:
        """``blocks`` is the number in use in Python's allocator: it measures the heap."""
        self._guesses = _GUESSES.get(engine, _GUESSES["python"])
        self.blocks = blocks
        # All deques are made here: an object that the guard makes later looks like growth of the
        # program.
        self._paid: dict[Depth, deque[tuple[float, int]]] = {
            depth: deque(maxlen=_REMEMBERED) for depth in Depth
        }
        self._last = Depth.CENSUS

    def paid(self, depth: Depth, seconds: float) -> None:
        """Record what one look cost."""
        self._last = depth
        self._paid[depth].append((seconds, max(self.blocks, 1)))

    def paid_later(self, seconds: float) -> None:
        """Record what the last look cost the program afterwards."""
        if paid := self._paid[self._last]:
            before, blocks = paid.pop()
            paid.append((before + seconds, blocks))

    def of(self, depth: Depth) -> float:
        """Return the expected cost of the next look, scaled with the size of the heap."""
        if depth is Depth.NUMBERS:
            return 0.0
        if paid := self._paid[depth]:
            return max(seconds * max(self.blocks / then, 1.0) for seconds, then in paid)
        least, each = self._guesses[depth]
        return least + each * self.blocks


class Schedule:
    """Decides at each generation's end whether to take a look, and how deep."""

    def __init__(
        self,
        max_overhead: float | None,
        meter: CostMeter,
        prices: Prices,
        chance: random.Random | None = None,
        faults: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Set the allowance.

        ``max_overhead`` is a share of the run's time (0.01 is 1 %); None looks every time.
        ``faults`` returns the seconds that the program has paid so far for page faults after looks.
        """
        self._share = max_overhead
        self._faults = faults
        self._faults_before, self._faults_paid = faults(), 0.0
        self._meter = meter
        self._prices = prices
        self._chance = chance or random.Random(0)
        self._heights = Heights()
        self._distance = _FIRST
        self._next = 0
        self._on_looks = 0.0
        self._patience = 1.0
        self._holders_due = 0
        self._news = False
        self._is_short = False
        self._is_long = False
        self._taken = self._taken_before = self._taken_apart = 0
        self._total: int | None = None
        self._index = 0
        #: Generations so far that were not measured, and have no index.
        self.passed = 0
        self.growing = False

    @property
    def spares_nothing(self) -> bool:
        """True without a limit: a look is taken at every generation and each of its phases."""
        return self._share is None

    @property
    def program_seconds(self) -> float:
        """Seconds that the program has run in its generations, without the guard's own work."""
        return self._meter.program

    @property
    def rising(self) -> bool:
        """True while the cheap numbers reach new maxima."""
        return self._heights.quiet <= max(self._distance, 1)

    def announce(self, total: int | None, *, long: bool = False) -> None:
        """Note the number of generations of the loop that begins; None if it is unknown.

        ``long`` means that the number is probably large, as with grouped steps.
        """
        self._total, self._is_long = total, long
        self._is_short = total is not None and total <= SHORT

    def note(self, index: int, metrics: Mapping[str, int | float]) -> None:
        """Record the cheap numbers at the end of generation ``index``, counted from 0."""
        self._index = index
        self._prices.blocks = int(metrics.get("python_blocks", self._prices.blocks))
        self._take_faults()
        looked, self._taken_before = self._taken > self._taken_before, self._taken
        if self._heights.note(metrics, looked=looked):
            self._news = True
            self._distance, self._next, self._holders_due = _AFTER_NEWS, index, index

    def has_let_go(self, metrics: Mapping[str, int | float]) -> bool:
        """Return whether most of the gain was freed since the last generation's end."""
        return self._heights.has_let_go(metrics)

    def reason(self, index: int, *, last: bool = False) -> str | None:
        """Return why a look is due at the end of generation ``index``, now; None if none is."""
        if self._share is None:
            return "no limit"
        if last or self._is_always(index):
            return LAST if last else "spread"
        affordable = self.affords_seconds(self._prices.of(Depth.CENSUS))
        if self._is_early and affordable:
            return "early"
        if index >= self._next and affordable:
            return "rise" if self._news else "spread"
        if self._covered():
            return "within budget"
        return None

    def needs(self, index: int) -> bool:
        """Return whether a generation is measured whatever it costs; it would have this index."""
        always = self._share is None or self._is_short or index < SHORT
        return always or index + self.passed == self._middle

    def planned(self, index: int) -> bool:
        """Return whether a look will come at the end of generation ``index``, which begins now."""
        date = self._is_early or index >= self._next
        date = date and self.affords_seconds(self._prices.of(Depth.CENSUS))
        return date or self._is_always(index) or self._covered()

    def affords(self, depth: Depth, times: int = 1) -> bool:
        """Return whether the budget allows so many looks, and the obligatory looks after them."""
        if self._share is None:
            return True
        return self.affords_seconds(self._prices.of(depth), times)

    def affords_seconds(self, price: float, times: int = 1) -> bool:
        """Return the same for work of this cost in seconds."""
        if self._share is None:
            return True
        if self._paid + price * times <= self._allowed_early():
            return True
        middle = self._middle
        ahead = 2 if middle is not None and self._index + self.passed < middle else 1
        allowed = self._allowed(price) - ahead * self._prices.of(Depth.CENSUS)
        return self._paid + price * times <= allowed

    def owes(self, depth: Depth) -> bool:
        """Return whether a person would wait for one more look, after those that were taken."""
        return self._paid + self._prices.of(depth) <= self._owed

    def deep_look_due(self, index: int) -> bool:
        """Return whether generation ``index`` is due for a deeper look, if something grows.

        The first deeper look is due at once. The next ones are further apart than censuses.
        """
        return self._share is None or self._is_early or index >= self._holders_due

    def costs_little(self, depth: Depth) -> bool:
        """Return whether a look is cheap enough to come before the loop."""
        return self._share is None or self._prices.of(depth) <= FIXED_SECONDS / _BEFORE_LOOP

    def saw(self, index: int, *, growing: bool) -> None:
        """Record the result of a census; if growth is news, look again soon."""
        if growing and not self.growing:
            self._distance, self._holders_due = _AFTER_NEWS, index
        self.growing = growing

    def looked(self, index: int, depth: Depth) -> None:
        """Record a look at generation ``index``, and choose the generation of the next one."""
        self._taken += 1
        self._taken_apart += (index + 1) % APART == 0
        self._next = index + max(1, round(self._distance * self._swayed()))
        if depth is Depth.HOLDERS:
            self._holders_due = index + max(1, round(self._distance**2 / 2))
        self._distance *= _GROWTH
        self._news = self._news and self._distance < 1
        self._patience = 2 * self._chance.random() + 1

    def may_pass_over(self, index: int) -> bool:
        """Return whether the look at generation ``index`` may be left out, if it has nothing new.

        The first ones may not: growth is measured from them.
        """
        return self._share is not None and index > _BEGINNING

    def passed_over(self, index: int) -> None:
        """Record that the look at generation ``index`` was left out; choose the next generation."""
        self._next = index + max(1, round(self._distance * self._swayed()))
        self._distance *= _GROWTH

    def longest_look(self) -> float:
        """Return the seconds after which the next look is aborted.

        It is the unspent budget, but never less than ``SHORTEST_LIMIT``, what a person would wait
        for, or a few times the expected cost: an obligatory look must succeed.
        """
        if self._share is None:
            return LONGEST
        left = max(self._allowed_early(), self._allowed(0.0)) - self._paid
        usual = TIMES_USUAL * self._prices.of(Depth.HOLDERS)
        return min(max(SHORTEST_LIMIT, self._owed, left, usual), LONGEST)

    @contextmanager
    def charged(self, depth: Depth, *, in_loop: bool = True) -> Iterator[None]:
        """Measure the cost of the looks inside the block, even if they fail, and record it."""
        before = self._meter.spent
        try:
            yield
        finally:
            seconds = self._meter.spent - before
            self._on_looks += seconds if in_loop else 0.0
            if depth:
                self._prices.paid(depth, seconds)

    @property
    def is_short(self) -> bool:
        """True if the loop is known to be short: each of its generations counts."""
        return self._is_short

    @property
    def _paid(self) -> float:
        return self._on_looks + self._faults_paid

    def _take_faults(self) -> None:
        """Add the page faults since the last look to what that look cost."""
        seconds = self._faults() - self._faults_before
        if seconds > 0:
            self._faults_before += seconds
            self._faults_paid += seconds
            self._prices.paid_later(seconds)

    @property
    def _owed(self) -> float:
        """The seconds that a person would wait for, in a run of this length."""
        return max(OWED_SECONDS, OWED_SHARE * self._time)

    @property
    def _is_early(self) -> bool:
        """True in a short loop, and early in a loop that may turn out to be short."""
        if self._is_short or self._total is not None:
            return self._is_short
        if not self._is_long:
            return self._index < SHORT
        enough = self._taken >= SHORT if self.growing else self._taken_apart >= FIRST_OF_LONG
        apart = APART // 2 if self.growing else APART
        return self._index < SHORT * APART and not enough and (self._index + 1) % apart == 0

    def _is_always(self, index: int) -> bool:
        """True in the second generation and in the middle: two looks alone show no trend."""
        return index == _BEGINNING or index + self.passed == self._middle

    @property
    def _middle(self) -> int | None:
        return None if self._total is None else self._total // 2

    @property
    def _time(self) -> float:
        """The seconds that shares refer to; in a long loop, only those in which the program worked.

        In a short loop each generation counts, so on a busy machine more may be spent on looks.
        """
        return self._meter.program_worked if self._is_long else self._meter.program

    def _allowed_early(self) -> float:
        if self._is_short:
            calmly = max(OWED_SECONDS, EARLY_SHARE * self._time)
            if not self.growing:
                return min(calmly, SHORT_SECONDS)
            # The look at the end of the loop finds who holds what grew: it is paid for from here.
            return max(SHORT_SECONDS - self._prices.of(Depth.HOLDERS), OWED_SECONDS)
        if not self._is_early:
            return 0.0
        return min(EARLY_SHARE * self._time, RISING_SECONDS if self._is_long else SHORT_SECONDS)

    def _allowed(self, price: float) -> float:
        """Return what all looks may have cost by now, if the next look costs ``price``."""
        # Only half of ``FIXED_SECONDS`` may be spent on looks that are expensive. Chosen: this half
        # is for the first and the last look at a heap of a million objects.
        fixed = FIXED_SECONDS if price <= FIXED_SECONDS / _NOT_DEAR else FIXED_SECONDS / 2
        allowed = fixed + self._income()
        if self.rising or self.growing:
            share = RISING_SHARE_OF_LONG if self._is_long else RISING_SHARE
            allowed += min(RISING_SECONDS, share * self._time)
        if self.growing and price <= CHEAP_SECONDS:
            allowed += GROWING_SECONDS
        return allowed

    def _covered(self) -> bool:
        """Return whether the share alone pays for one more look, with a reserve for a late rise."""
        if self._share is None:
            return True
        income = self._income()
        reserve = min(income / 2, _RESERVED * self._prices.of(Depth.HOLDERS))
        price = self._patience * self._prices.of(Depth.CENSUS)
        return self._paid + price <= income - (0 if self.rising else reserve)

    def _income(self) -> float:
        """Return the share of the program's own work, minus the cost of the cheap numbers."""
        numbers = self._meter.spent - self._on_looks
        return max(_AIM * (self._share or 0.0) * self._meter.program_worked - numbers, 0.0)

    def _swayed(self) -> float:
        return self._chance.uniform(1 - _SWAY, 1 + _SWAY)
