"""Decides when the process is looked at, and how deep: pure functions of what is known.

A look is due

* at the second generation, because growth needs a start, and the first generation is a warm-up; at
  the middle one, if the length of the loop is known; and at the last;
* at ``Dates``, ever further apart: generations 2, 3, 4, 6, 8, 11, 16 and so on. A rise of the cheap
  numbers begins the dates anew.

The look goes on to the holders if something grows, at each date and once more to confirm that
growth has stopped. Births are recorded all the time, so looks need not be many. What looks may cost
is the matter of the ``purse``: the first, the middle and the last look are taken whatever is left
in it, and a date that it cannot pay for waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

#: The reason of the look at the end of the last generation.
LAST = "last generation"
#: The first generations, which are measured whatever it costs. Growth is measured from them, and a
#: loop may have no others. Chosen.
MEASURED_FIRST = 12
#: Index of the generation that always gets the first look: the second.
BEGINNING = 1
# Factor from one date to the next, counted from where the dates begin: the square root of two.
# Measured on 631 recorded runs (reports/judge/looks.md): at 2, three leaks of 391 and three holders
# are lost; at 1.19, none is won.
_APART = 1.41


class Depth(IntEnum):
    """How deep a look goes; each depth includes the ones before."""

    NUMBERS = 0
    CENSUS = 1
    HOLDERS = 2


class Knowledge(Protocol):
    """What is known of the process, and what is open.

    Attributes:
        rises: a cheap number reached a new maximum of late.
        grows: objects grew at the last look.
        dates: when the next look is due.
    """

    dates: Dates

    @property
    def rises(self) -> bool: ...
    @property
    def grows(self) -> bool: ...


class Means(Protocol):
    """What looks may cost."""

    @property
    def spares_nothing(self) -> bool: ...
    def allows(self, depth: Depth, known: Knowledge, ahead: int, times: int = 1) -> bool: ...


@dataclass(slots=True)
class LoopSoFar:
    """How far the loop is.

    Attributes:
        total: the generations that it will have; None if that is unknown.
        index: the latest generation that was measured, counted from 0.
        passed: generations so far that were not measured, and have no index.
    """

    total: int | None = None
    index: int = 0
    passed: int = 0

    @property
    def middle(self) -> int | None:
        """The generation in the middle of a loop of known length."""
        return None if self.total is None else self.total // 2

    @property
    def is_short(self) -> bool:
        """True if the loop is known to have few generations, so that each of them counts."""
        return self.total is not None and self.total <= MEASURED_FIRST

    def is_middle(self, index: int) -> bool:
        """Return whether a measured generation is the one in the middle."""
        return index + self.passed == self.middle

    def owes_a_look(self, index: int) -> bool:
        """Return whether a generation gets a look in any case: two looks alone show no trend."""
        return index == BEGINNING or self.is_middle(index)

    @property
    def ahead(self) -> int:
        """How many looks are still to come that are taken in any case."""
        return 2 if self.middle is not None and self.index + self.passed < self.middle else 1


@dataclass(slots=True)
class Dates:
    """The generations at which looks are due, ever further apart from the beginning on.

    Attributes:
        origin: the generation before the first of them.
        next: the next generation that is due.
        latest: the latest that had its look.
    """

    origin: int = -1
    next: int = BEGINNING
    latest: int = 0

    @property
    def distance(self) -> int:
        """Generations from the latest look to the next one."""
        return self.next - self.latest

    def begin(self, index: int) -> None:
        """Begin anew: the generation ``index`` is due, and the next ones soon after it."""
        self.origin, self.next = index - 1, index

    def met(self, index: int) -> None:
        """Note that a generation had its look, or that it needed none."""
        self.latest = index
        age = index - self.origin
        self.next = self.origin + max(age + 1, round(_APART * age))


def must_measure(purse: Means, loop: LoopSoFar, index: int) -> bool:
    """Return whether a generation is measured whatever it costs."""
    always = purse.spares_nothing or loop.is_short or index < MEASURED_FIRST
    return always or loop.is_middle(index)


def reason_to_look(
    known: Knowledge, purse: Means, loop: LoopSoFar, *, last: bool = False
) -> str | None:
    """Return why a census is due at the end of the latest generation; None if none is."""
    if purse.spares_nothing:
        return "no limit"
    if last:
        return LAST
    if loop.owes_a_look(loop.index):
        return "spread"
    if loop.index >= known.dates.next and purse.allows(Depth.CENSUS, known, loop.ahead):
        return "rise" if known.rises or known.grows else "spread"
    return None


def looks_into_phases(
    known: Knowledge, purse: Means, loop: LoopSoFar, index: int, phases: int, *, last: bool = False
) -> bool:
    """Return whether each phase of the generation ``index`` gets a census at both of its ends.

    The generation begins now. A census of each phase shows which one makes what is too little for
    a record of births.
    """
    if purse.spares_nothing:
        return True
    due = last or index >= known.dates.next or loop.owes_a_look(index)
    return known.grows and due and purse.allows(Depth.CENSUS, known, loop.ahead, 2 * phases + 1)


def may_pass_over(purse: Means, index: int) -> bool:
    """Return whether a look may be left out if it would find nothing new.

    The first one may not: growth is measured from it.
    """
    return not purse.spares_nothing and index > BEGINNING


def asks_for_holders(
    known: Knowledge, purse: Means, loop: LoopSoFar, why: str | None, *, grew: bool, gained: bool
) -> bool:
    """Return whether the look that has just taken a census goes on to the holders.

    ``grew`` tells whether objects grew at the look before; ``gained``, whether the program has more
    than at the first look, and keeps it. The last look then asks whatever it costs.
    """
    if why == LAST and gained:
        return True
    if not (grew or known.grows or gained):
        return False
    return purse.spares_nothing or purse.allows(Depth.HOLDERS, known, loop.ahead)
