"""Which generations are looked at, and how deep: a few at first, then at growing distances.

What a run pays for looks, in seconds of the guard's own work:

* a fixed ``FIXED_SECONDS``, so that a short run gets an answer too;
* three fifths of ``max_overhead`` of the program's time, without that in which other programs had
  the processors: a look whenever that much has come in;
* where memory, threads or files rise: ``RISING_SHARE`` of the program's time, at most
  ``RISING_SECONDS`` in all; of a loop that is taken to be long, ``RISING_SHARE_OF_LONG``;
* once a look has seen objects grow: ``GROWING_SECONDS`` for looks of at most ``CHEAP_SECONDS``,
  to find out who holds them;
* before the loop, a first walk and a census, each where it costs at most a fifth of
  ``FIXED_SECONDS``;
* in a loop that is known to have at most ``SHORT`` generations: every look, up to
  ``SHORT_SECONDS`` in all; in the first so many of a loop that may end at any time, up to
  ``EARLY_SHARE`` of their own time; of one that most likely does not, ``FIRST_OF_LONG`` that lie
  ``APART`` and, where something grows, as many as ``SHORT`` at half of that distance, among the
  first ``SHORT * APART``;
* the looks at the second generation, in the middle of a loop whose length is known, and at the end,
  which are always taken.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum

from leakguard.capture.heap import LONGEST
from leakguard.live.heights import Heights
from leakguard.live.meter import CostMeter

#: The reason for the look at the end of the last generation.
LAST = "last generation"
#: Seconds that any run may pay. A look at a small program was measured to cost 6 ms, and 22 ms on a
#: busy machine: it is enough for the first 13 of them.
FIXED_SECONDS = 0.3
#: Seconds, and share of the program's time, that a run in which something rises may pay on top to
#: have it named. Chosen: enough for two walks of 1,000,000 objects in a run of 20 s. They are all
#: that early looks may cost in a loop that is long anyway.
RISING_SECONDS = 1.0
RISING_SHARE = 0.05
#: The same share where there is time: most trainings fill a buffer for minutes, and what leaks is
#: seen to grow by the looks that are taken early and at the end. Chosen: with those and the share
#: of ``max_overhead`` a training of a minute with torch then pays less than 2 % of its time.
RISING_SHARE_OF_LONG = 0.005
#: Seconds where objects grow, and the dearest look that they are for. Chosen: in a small program
#: they pay some ten censuses and looks at holders, of 6 and 27 ms, on a machine that is half as
#: fast.
GROWING_SECONDS = 0.6
CHEAP_SECONDS = 0.15
#: Generations that tell something only if each is looked at, and seconds for all of them. Chosen:
#: it pays for 12 looks at a million objects on a busy machine, two of them at their holders.
SHORT = 12
SHORT_SECONDS = 6.0
#: Generations of a loop that is taken to be long which are looked at early, though nothing grows in
#: them, beside the second one. Chosen: the judge of a look that something grows needs three.
FIRST_OF_LONG = 2
#: How far apart these are: such a loop has small generations at first (see ``launch.pace``), and
#: one of them may lie between two things that it does at every twentieth of its steps.
APART = 8
#: Share of its own time that the beginning of a loop of unknown length may pay, since the loop may
#: be a short one. Chosen: six generations of half a second, the shortest trainings there are, need
#: it.
EARLY_SHARE = 0.5
#: Seconds of CPU, and share of the program's time, that a look which must be taken may always have.
#: Chosen: what a person would wait for.
OWED_SECONDS, OWED_SHARE = 2.0, 0.05
#: Times of its usual price after which a look is ended. Chosen: with objects to ask about it takes
#: twice as long as without.
TIMES_USUAL = 4.0
# Share of ``max_overhead`` that is spent: the guard's clock does not see that caches are cold after
# a look, nor the diagnosis at the end of the run, which is still to come. Measured: a guard that
# had spent 0.65 % by its own clock cost 1.1 % (reports/overhead).
_AIM = 0.6
# Looks of one price that the fixed seconds must pay for, for one to come before the loop, and for
# the price not to be a dear one. Chosen.
_BEFORE_LOOP, _NOT_DEAR = 5, 10
# Factor by which the distance grows from look to look. Chosen: 16 looks in 60 generations, 26 in
# 600.
_GROWTH = 1.25
# Generations that the first distance has, and the one after news. Below one, so that the first four
# looks, and five after news, come in a row.
_FIRST = _GROWTH**-2
_AFTER_NEWS = _GROWTH**-3
# Share by which a distance is varied at random, so that no period of the program is met at one
# point only. Chosen.
_SWAY = 0.3
# Looks at who holds what that are kept in reserve for something that begins to rise late. Chosen.
_RESERVED = 8
# Looks of which the dearest gives the price: prices of one process differ by what caches hold.
_REMEMBERED = 3


class Depth(IntEnum):
    """How deep a look goes; each includes the ones before."""

    NUMBERS = 0
    CENSUS = 1
    HOLDERS = 2


# Seconds at least, and a block of Python's allocator, before anything was measured. A walk took 27
# and 440 ms compiled with 65,000 and 2,560,000 blocks; in pure Python, with 65,000 and 315,000, a
# census 38 and 85 ms, and a walk 370 and 1,610 ms. A compiled census took 6 ms with 65,000, and 70
# ms with 2,560,000 that are alike; but 66 and 125 ms with 540,000 and 1,090,000 that torch and its
# compiler are made of, which is what a training has.
_GUESSES = {
    "compiled": {Depth.CENSUS: (4e-3, 110e-9), Depth.HOLDERS: (15e-3, 180e-9)},
    "python": {Depth.CENSUS: (25e-3, 200e-9), Depth.HOLDERS: (25e-3, 5.3e-6)},
}
# Index of the generation that is always looked at first, the second: what is compared must have a
# beginning, and the first one is a warm-up.
_BEGINNING = 1


class Prices:
    """What a look at each depth costs, from what the last ones did."""

    def __init__(self, engine: str, blocks: int) -> None:
        """``blocks`` are those in use in Python's allocator, a measure of the heap's size."""
        self._guesses = _GUESSES.get(engine, _GUESSES["python"])
        self.blocks = blocks
        self._paid: dict[Depth, deque[tuple[float, int]]] = {}

    def paid(self, depth: Depth, seconds: float) -> None:
        """Note what one look cost."""
        paid = self._paid.setdefault(depth, deque(maxlen=_REMEMBERED))
        paid.append((seconds, max(self.blocks, 1)))

    def of(self, depth: Depth) -> float:
        """Return what the next look is expected to cost; the price grows with the heap."""
        if depth is Depth.NUMBERS:
            return 0.0
        paid = self._paid.get(depth)
        if paid:
            return max(seconds * max(self.blocks / then, 1.0) for seconds, then in paid)
        least, each = self._guesses[depth]
        return least + each * self.blocks


class Schedule:
    """Decides, when a generation ends, whether it is looked at and how deep a look may go."""

    def __init__(
        self,
        max_overhead: float | None,
        meter: CostMeter,
        prices: Prices,
        chance: random.Random | None = None,
    ) -> None:
        """``max_overhead`` is a share of the run's time (0.01 is 1 %); None looks every time."""
        self._share = max_overhead
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
        self.growing = False

    @property
    def spares_nothing(self) -> bool:
        """True where there is no limit: every generation and each of its phases is looked at."""
        return self._share is None

    @property
    def program_seconds(self) -> float:
        """How long the program has run in its generations, the guard's own work left out."""
        return self._meter.program

    @property
    def rising(self) -> bool:
        """True while the cheap numbers go on to new heights."""
        return self._heights.quiet <= max(self._distance, 1)

    def announce(self, total: int | None, *, long: bool = False) -> None:
        """Take how many generations the loop that begins will have; None where nobody knows.

        ``long`` says that these will most likely be many, as of steps that were grouped.
        """
        self._total, self._is_long = total, long
        self._is_short = total is not None and total <= SHORT

    def note(self, index: int, metrics: Mapping[str, int | float]) -> None:
        """Take the cheap numbers at the end of generation ``index``, counted from 0."""
        self._index = index
        self._prices.blocks = int(metrics.get("python_blocks", self._prices.blocks))
        looked, self._taken_before = self._taken > self._taken_before, self._taken
        if self._heights.note(metrics, looked=looked):
            self._news = True
            self._distance, self._next, self._holders_due = _AFTER_NEWS, index, index

    def has_let_go(self, metrics: Mapping[str, int | float]) -> bool:
        """Return whether most of what the generations gained is gone since the last one ended."""
        return self._heights.has_let_go(metrics)

    def reason(self, index: int, *, last: bool = False) -> str | None:
        """Return why generation ``index``, which ends now, is looked at; None if it is not."""
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

    def planned(self, index: int) -> bool:
        """Return whether generation ``index``, which begins now, will be looked at as it stands."""
        date = self._is_early or index >= self._next
        date = date and self.affords_seconds(self._prices.of(Depth.CENSUS))
        return date or self._is_always(index) or self._covered()

    def affords(self, depth: Depth, times: int = 1) -> bool:
        """Return whether so many looks may be taken, and those that must be be paid after them."""
        if self._share is None:
            return True
        return self.affords_seconds(self._prices.of(depth), times)

    def affords_seconds(self, price: float, times: int = 1) -> bool:
        """Return the same of work at this price."""
        if self._share is None:
            return True
        if self._paid + price * times <= self._allowed_early():
            return True
        ahead = 2 if self._middle is not None and self._index < self._middle else 1
        allowed = self._allowed(price) - ahead * self._prices.of(Depth.CENSUS)
        return self._paid + price * times <= allowed

    def deep_look_due(self, index: int) -> bool:
        """Return whether generation ``index`` is one to look deeper in, where something grows.

        While it grows that is so at once, and then at longer distances than those of censuses.
        """
        return self._share is None or self._is_early or index >= self._holders_due

    def costs_little(self, depth: Depth) -> bool:
        """Return whether a look costs so little that it may come before the loop."""
        limit = SHORT_SECONDS if self._is_short else FIXED_SECONDS
        return self._share is None or self._prices.of(depth) <= limit / _BEFORE_LOOP

    def saw(self, index: int, *, growing: bool) -> None:
        """Note what the census of generation ``index`` told; where it is news, look again soon."""
        if growing and not self.growing:
            self._distance, self._holders_due = _AFTER_NEWS, index
        self.growing = growing

    def looked(self, index: int, depth: Depth) -> None:
        """Note that generation ``index`` was looked at, and set the date of the next look."""
        self._taken += 1
        self._taken_apart += (index + 1) % APART == 0
        self._next = index + max(1, round(self._distance * self._swayed()))
        if depth is Depth.HOLDERS:
            self._holders_due = index + max(1, round(self._distance**2 / 2))
        self._distance *= _GROWTH
        self._news = self._news and self._distance < 1
        self._patience = 2 * self._chance.random() + 1

    def longest_look(self) -> float:
        """Return the seconds that the next look may take: one that takes longer is ended.

        It is what is allowed and not spent, and never less than a person would wait for, or some
        times what it usually takes: what must be looked at is looked at.
        """
        if self._share is None:
            return LONGEST
        owed = max(OWED_SECONDS, OWED_SHARE * self._time)
        left = max(self._allowed_early(), self._allowed(0.0)) - self._paid
        usual = TIMES_USUAL * self._prices.of(Depth.HOLDERS)
        return min(max(owed, left, usual), LONGEST)

    @contextmanager
    def charged(self, depth: Depth, *, in_loop: bool = True) -> Iterator[None]:
        """Charge looks with the block, and remember its price, whatever becomes of it."""
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
        """True in a loop that is known to be short: each of its generations has to tell."""
        return self._is_short

    @property
    def _paid(self) -> float:
        return self._on_looks

    @property
    def _is_early(self) -> bool:
        """True in a short loop, and at the beginning of one that may turn out to be short."""
        if self._is_short or self._total is not None:
            return self._is_short
        if not self._is_long:
            return self._index < SHORT
        enough = self._taken >= SHORT if self.growing else self._taken_apart >= FIRST_OF_LONG
        apart = APART // 2 if self.growing else APART
        return self._index < SHORT * APART and not enough and (self._index + 1) % apart == 0

    def _is_always(self, index: int) -> bool:
        """True in the second generation and in the middle: two looks alone show no trend."""
        return index in (_BEGINNING, self._middle)

    @property
    def _middle(self) -> int | None:
        return None if self._total is None else self._total // 2

    @property
    def _time(self) -> float:
        """The seconds that shares are of: those of its own work in a loop that is long anyway.

        Where each of a few generations counts, a machine with much to do has more for looks.
        """
        return self._meter.program_worked if self._is_long else self._meter.program

    def _allowed_early(self) -> float:
        if self._is_short:
            return SHORT_SECONDS
        if not self._is_early:
            return 0.0
        return min(EARLY_SHARE * self._time, RISING_SECONDS if self._is_long else SHORT_SECONDS)

    def _allowed(self, price: float) -> float:
        """Return what all looks together may have cost by now, for one of this price."""
        # Dear looks may use half of it: at a million objects the first one and the last.
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
        """Return the share of the program's own work, less what the cheap numbers cost."""
        numbers = self._meter.spent - self._on_looks
        return max(_AIM * (self._share or 0.0) * self._meter.program_worked - numbers, 0.0)

    def _swayed(self) -> float:
        return self._chance.uniform(1 - _SWAY, 1 + _SWAY)
