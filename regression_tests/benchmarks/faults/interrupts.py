"""What a signal raises in a watched loop: at random moments, by a timer, or at each moment."""

from __future__ import annotations

import gc
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from leakguard import LeakGuard
from leakguard.live.active import open_phases

_LONGEST = 0.008  # seconds until the next interrupt; a round with a look takes about as long


@dataclass(slots=True)
class Told:
    """How many interrupts were sent, reached the program, and left something open for good.

    ``lost`` has where each of the others came in: one stack of the program each.
    """

    sent: int = 0
    received: int = 0
    left_open: int = 0
    lost: list[str] = field(default_factory=list)


class Bell:
    """Raises an error after a random time, as Ctrl-C or an alarm does, and counts them."""

    def __init__(self, told: Told, chance: random.Random, error: type[BaseException]) -> None:
        self._told = told
        self._chance = chance
        self._error = error
        self._before = signal.signal(signal.SIGALRM, self._ring)
        self.came_in = ""

    def wind(self) -> None:
        """Ring once, some time from now."""
        signal.setitimer(signal.ITIMER_REAL, self._chance.uniform(1e-5, _LONGEST))

    def stop(self) -> None:
        """Ring no more, and put the handler of before back."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    def _ring(self, _: int, frame: FrameType | None) -> None:
        self._told.sent += 1
        self.came_in = "".join(traceback.format_stack(frame, limit=8))
        raise self._error


def interrupted(
    out: Path, times: int, seed: int = 0, error: type[BaseException] = KeyboardInterrupt
) -> Told:
    """Play rounds until so many interrupts came; each must reach the loop and leave it whole."""
    told = Told()
    bell = Bell(told, random.Random(seed), error)
    guard = LeakGuard(out=out, report=None, max_overhead=0.2)
    try:
        with guard:
            while told.sent < times:
                _round(guard, bell, told, error)
    finally:
        bell.stop()
    return told


def _round(guard: LeakGuard, bell: Bell, told: Told, error: type[BaseException]) -> None:
    sent = told.sent
    try:
        bell.wind()
        while told.sent == sent:
            play_round(guard)
            time.sleep(0.0005)
        told.lost.append(bell.came_in)
    except error:
        told.received += 1
    play_round(guard)  # what an interrupt left open is closed by the round that comes next
    told.left_open += bool(open_phases()) or not gc.isenabled()


def play_round(guard: LeakGuard) -> None:
    """Play a round with all that a program may open."""
    with guard.generation(), guard.phase("work"), guard.phase("inner"):
        guard.expect_freed(Told(), "dropped")


def interrupted_at(moment: int, play: Callable[[], object], within: str = "") -> bool:
    """Interrupt ``play`` at one moment, counted from 1; return whether it lasted so long.

    Of a start, whose walk of the heap has thousands, only moments in files whose path matches the
    expression ``within`` may be counted.
    An interrupt in the close of a generator that nobody holds is printed and ignored by Python.
    The interpreter lets an interrupt in where a Python function begins and where a call of a C
    function has ended: so a profiler, which is called just then, can raise it at each of them.
    """
    left, seen = moment, re.compile(within).search

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_return") and seen(frame.f_code.co_filename) is not None
        if not left:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        play()
    except KeyboardInterrupt:  # what suppressed it would be called, and counted
        pass
    finally:
        sys.setprofile(None)
    return left <= 0
