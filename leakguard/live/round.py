"""The current generation: which phases ran in it, what each added, and where generations begin."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import NamedTuple

from leakguard.capture.heap.frames import is_ours
from leakguard.capture.packed import PackedMeasurement
from leakguard.capture.peak import Peak
from leakguard.live.names import kind_of
from leakguard.model import PhaseTotal

_SNAPSHOTS_A_PHASE = 16


class Entry(NamedTuple):
    """What is done with one run of a phase: is it measured, written, and given a census?"""

    measured: bool
    written: bool = False
    deep: bool = False


_COUNTED = Entry(measured=False)


@dataclass(slots=True)
class _PhaseSum:
    left: int = 0
    measured: int = 0
    seconds: float = 0.0
    change: dict[str, int | float] = field(default_factory=dict)

    def total(self) -> PhaseTotal:
        """Return the sum; runs that were only counted are taken to be like those measured."""
        change = self.change
        if 0 < self.measured < self.left:
            scale = self.left / self.measured
            change = {name: round(scale * value) for name, value in change.items()}
        return PhaseTotal(self.left, self.seconds, change)


@dataclass(slots=True)
class Opened:
    """The state when the current generation began; no reading if it is to be passed over."""

    began: float
    reading: PackedMeasurement | None = None
    peak: Peak | None = None


@dataclass(slots=True)
class Round:
    """The current generation; ``index`` counts from 0, ``number`` is the user's.

    ``taken`` is the number of generations recorded together as this one, if there are too many to
    record each. ``phases_deep`` is true if its phases get a census. A phase that runs many times in
    a generation gets one look, at a different run in each generation, and writes at most 16
    snapshots; further runs are measured if they ``are_due``, and else counted. Phases whose names
    differ only in numbers count as one phase here. In a generation that is ``passed_over``, no
    phase is measured.
    """

    index: int | None = None
    number: int | None = None
    last: bool = False
    phases_deep: bool = False
    previous: Mapping[str, int] = field(default_factory=dict)
    taken: int | None = None
    passed_over: bool = False
    _entered: dict[str, int] = field(default_factory=dict)
    _tallies: dict[str, _PhaseSum] = field(default_factory=dict)

    def enter(self, phase: str, are_due: Callable[[], bool] = lambda: True) -> Entry:
        """Count one entry of ``phase``; return what is done with it."""
        if self.passed_over:
            return _COUNTED
        kind = kind_of(phase)
        entered = self._entered[kind] = self._entered.get(kind, 0) + 1
        expected = self.previous.get(kind, 1)
        chosen = 1 + (self.index or 0) % max(expected, 1)
        look = self.phases_deep and entered == chosen
        written = look or entered <= _SNAPSHOTS_A_PHASE
        return Entry(written or are_due(), written, look)

    def leave(
        self,
        phase: str,
        seconds: float,
        before: Mapping[str, int | float],
        after: Mapping[str, int | float],
    ) -> None:
        """Add the changes of one run of ``phase``."""
        tally = self.count(phase, seconds)
        tally.measured += 1
        for name in before.keys() & after.keys():
            tally.change[name] = tally.change.get(name, 0) + after[name] - before[name]

    def count(self, phase: str, seconds: float) -> _PhaseSum:
        """Add one run of ``phase`` that was not measured."""
        tally = self._tallies.setdefault(phase, _PhaseSum())
        tally.left += 1
        tally.seconds += seconds
        return tally

    def totals(self) -> dict[str, PhaseTotal]:
        """Return what each phase that ended in this round added."""
        return {phase: tally.total() for phase, tally in self._tallies.items()}

    def counts(self) -> Mapping[str, int]:
        """Return how often each kind of phase was entered."""
        return self._entered

    def unmeasured(self, index: int, number: int) -> Round:
        """Return the next generation, which is passed over, with the counts of the last one."""
        return Round(index, number, passed_over=True, _entered=self._entered)

    def after(self) -> Round:
        """Return the state between this generation and the next, with this generation's counts."""
        return Round(_entered=dict(self._entered))


class Recurrence:
    """Finds the phase that a loop begins with: the first phase that begins a second time.

    Only outermost phases count, in the thread that entered the first one, and only while the
    program marks no generations itself. In a program without phases, a moment that is recorded
    repeatedly (``step 100``, ``step 200``) ends one generation and begins the next.
    """

    def __init__(self) -> None:
        self.leader: str | None = None
        self._seen: set[str] = set()
        self._moments: set[str] = set()
        self._phases = False
        self._thread = 0
        self._over = False

    def passes(self, moment: str) -> bool:
        """Note that a moment was recorded; return whether it begins a generation."""
        if self._over or self._phases or not self._is_followed():
            return False
        kind = kind_of(moment)
        if self.leader is None and kind in self._moments:
            self.leader = kind
        self._moments.add(kind)
        return kind == self.leader

    def begins(self, phase: str) -> bool:
        """Note that a phase begins; return whether it begins a generation."""
        if self._over or not self._is_followed():
            return False
        kind = kind_of(phase)
        if not self._phases:  # phases are a better sign than moments
            self._phases, self.leader = True, None
        if self.leader is None and kind in self._seen:
            self.leader = kind
        self._seen.add(kind)
        return kind == self.leader

    @property
    def by_moments(self) -> bool:
        """True while recorded moments, not phases or calls, end generations."""
        return self.leader is not None and not self._phases and not self._over

    def stop(self) -> bool:
        """Note that the program marks its generations; return whether some were found before."""
        self._over, led = True, self.leader is not None and not self._over
        return led

    def _is_followed(self) -> bool:
        self._thread = self._thread or threading.get_ident()
        return self._thread == threading.get_ident()


class Caller(NamedTuple):
    """The function that began a generation, by addresses, so that it is not kept alive."""

    frame: int
    code: int

    @classmethod
    def here(cls) -> Caller | None:
        """Return the innermost calling function that is not the guard's own."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and is_ours(frame):
            frame = frame.f_back
        return None if frame is None else cls(id(frame), id(frame.f_code))

    def is_running(self) -> bool:
        """Return whether the function is still running, as far as this thread can see."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and (id(frame), id(frame.f_code)) != self:
            frame = frame.f_back
        return frame is not None
