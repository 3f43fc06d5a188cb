"""What looks may cost: the seconds that were spent, the prices, and what is left.

A run pays for its looks in seconds of the guard's own work, and of page faults of the program after
looks in a copy. It may spend:

* in any run: ``FIXED_SECONDS``, so that a short run gets an answer too;
* over time: three fifths of ``max_overhead`` of the program's own work;
* while memory, threads, files or objects rise: ``RISING_FIRST`` and ``RISING_SHARE`` of that work,
  at most ``RISING_SECONDS``;
* before the loop: a first walk and a census, if each costs at most half of ``FIXED_SECONDS``.

What the looks that are taken in any case will cost is left in the purse for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leakguard.capture.heap import LONGEST
from leakguard.live.meter import CostMeter
from leakguard.live.policy import Depth, Knowledge

#: Seconds that any run may spend: some looks at a small program, of 6 to 22 ms each. Measured on
#: 631 recorded runs: 0.3 s took 1,200 looks more and found no leak, holder or line more.
FIXED_SECONDS = 0.1
#: While something rises or grows, a run may spend ``RISING_FIRST`` and the share ``RISING_SHARE``
#: of the program's time in addition, but at most ``RISING_SECONDS``. Most trainings fill a buffer
#: for minutes, so memory rises without a leak. Chosen: the guard then takes less than 2 % of a
#: training of a minute, and a run of half a second has more than one look at who holds what.
RISING_FIRST, RISING_SHARE, RISING_SECONDS = 0.2, 0.05, 1.0
#: The looks after a loop are taken even if nothing is left to spend, until all looks have taken
#: ``OWED_SECONDS`` of CPU time, or the share ``OWED_SHARE`` of the program's time if that is more.
#: Chosen: what a person would wait for.
OWED_SECONDS, OWED_SHARE = 2.0, 0.05
#: CPU seconds that a look may always take before it is aborted. Chosen: in a process with torch, a
#: look that follows 45,000 nodes of backward graphs took 3.7 s, and on a busy machine takes twice
#: that. What is aborted was paid for nothing: with 3 s, two programs of strangers had no holders.
SHORTEST_LIMIT = 8.0
#: A look may always take this many times its expected cost before it is aborted. Chosen: more than
#: 2, because a look takes twice as long if it has to search for holders.
TIMES_USUAL = 4.0
# Share of ``max_overhead`` that is spent. The guard's clock misses the cold caches after a look,
# and the diagnosis at the end of the run. Measured: a guard that had spent 0.65 % by its own clock
# cost 1.1 % (reports/overhead).
_AIM = 0.6
# A look before the loop may cost at most a ``_BEFORE_LOOP``-th part of ``FIXED_SECONDS``. Chosen;
# without it 23 of 631 recorded runs say that a leak began a generation later than it did.
_BEFORE_LOOP = 2
# The expected cost of a look is the highest cost among this many recent looks, because the cost
# varies with the contents of caches.
_REMEMBERED = 3
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


class Purse:
    """Counts what looks have cost, and tells what the next one may cost.

    Seconds of the program are those in which it worked, not those in which other programs had the
    processors: a machine with much else to do gives no more to spend.
    """

    def __init__(
        self,
        max_overhead: float | None,
        meter: CostMeter,
        prices: Prices,
        faults: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Set the allowance.

        ``max_overhead`` is a share of the run's time (0.01 is 1 %); None spares nothing.
        ``faults`` returns the seconds that the program has paid so far for page faults after looks.
        """
        self._share = max_overhead
        self._meter = meter
        self._prices = prices
        self._faults = faults
        self._faults_before, self._faults_paid = faults(), 0.0
        self._on_looks = 0.0

    @property
    def spares_nothing(self) -> bool:
        """True without a limit: a look is taken at every generation and each of its phases."""
        return self._share is None

    @property
    def program_seconds(self) -> float:
        """Seconds that the program has run in its generations, without the guard's own work."""
        return self._meter.program

    def settle(self, blocks: float | None) -> None:
        """Note the size of the heap in blocks, and what the last look has cost the program since.

        A program pays for page faults after a look in a copy.
        """
        if blocks is not None:
            self._prices.blocks = int(blocks)
        seconds = self._faults() - self._faults_before
        if seconds > 0:
            self._faults_before += seconds
            self._faults_paid += seconds
            self._prices.paid_later(seconds)

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

    def allows(self, depth: Depth, known: Knowledge, ahead: int, times: int = 1) -> bool:
        """Return whether so many looks can be paid, and ``ahead`` censuses after them."""
        return self.allows_seconds(times * self._prices.of(depth), known, ahead)

    def allows_seconds(self, price: float, known: Knowledge, ahead: int = 1) -> bool:
        """Return the same for work of this cost in seconds."""
        if self._share is None:
            return True
        left = self._allowed(known) - self._paid
        return price <= left - ahead * self._prices.of(Depth.CENSUS)

    def owes(self, depth: Depth) -> bool:
        """Return whether a person would wait for one more look, after those that were taken."""
        return self._paid + self._prices.of(depth) <= self._owed

    def costs_little(self, depth: Depth) -> bool:
        """Return whether a look is cheap enough to come before the loop."""
        return self._share is None or self._prices.of(depth) <= FIXED_SECONDS / _BEFORE_LOOP

    def longest_look(self) -> float:
        """Return the seconds after which the next look is aborted.

        It is the unspent budget, but never less than ``SHORTEST_LIMIT``, what a person would wait
        for, or a few times the expected cost: an obligatory look must succeed.
        """
        if self._share is None:
            return LONGEST
        left = FIXED_SECONDS + self._income() - self._paid
        usual = TIMES_USUAL * self._prices.of(Depth.HOLDERS)
        return min(max(SHORTEST_LIMIT, self._owed, left, usual), LONGEST)

    @property
    def _paid(self) -> float:
        return self._on_looks + self._faults_paid

    @property
    def _owed(self) -> float:
        """The seconds that a person would wait for, in a run of this length."""
        return max(OWED_SECONDS, OWED_SHARE * self._meter.program)

    def _allowed(self, known: Knowledge) -> float:
        """Return what all looks may have cost by now."""
        allowed = FIXED_SECONDS + self._income()
        if known.rises or known.grows:
            share = RISING_SHARE * self._meter.program_worked
            allowed += min(RISING_SECONDS, RISING_FIRST + share)
        return allowed

    def _income(self) -> float:
        """Return the share of the program's own work, minus the cost of the cheap numbers."""
        numbers = self._meter.spent - self._on_looks
        return max(_AIM * (self._share or 0.0) * self._meter.program_worked - numbers, 0.0)
