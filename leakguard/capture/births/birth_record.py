"""The record of births of this process.

It is started, is informed of each new generation and phase, and returns what is alive.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from leakguard.capture.births.birthplaces import Place, Stacks, told
from leakguard.capture.births.survivors import Survivor, Survivors
from leakguard.capture.births.windows import Windows
from leakguard.compiled_part import check_interface
from leakguard.model.births import Births

#: The interface of the compiled part.
INTERFACE = 0x2478600B
#: Mean bytes between two samples at the start of a run; later it adapts to what the program
#: allocates.
FIRST_INTERVAL = 4_096.0


def _compiled() -> Any:
    """Return the compiled part; None if there is none or it was built from other sources.

    ``atexit`` stops the record before the interpreter ends, because the interpreter deletes thread
    states while their threads may still run. This module is imported before a guard is made, and
    exit functions run in reverse order, so a guard that ends at exit ends before the record.
    """
    try:
        from leakguard.capture.births import _births

        check_interface(_births, INTERFACE)
    except ImportError:
        return None
    atexit.register(_births.stop)
    return _births


_births = _compiled()

_MOST_PHASES = 65_535
_BEFORE_THE_LOOP = -1
_NOT_BUILT = "the compiled part was not built; reinstall leakguard with a C compiler"


def hush(quiet: bool) -> None:
    """Set whether this thread works for the guard; if so, its allocations are not recorded."""
    if _births is not None:
        _births.hush(quiet)


@contextmanager
def pools_in_sight() -> Iterator[None]:
    """Show the interpreter its own small-object allocator inside the block.

    The interpreter prints the statistics of its pools only if no other allocator is installed; the
    record is one.
    """
    if _births is None:
        yield
        return
    _births.show_pools(True)
    try:
        yield
    finally:
        _births.show_pools(False)


def doubled_bytes() -> int:
    """Return the bytes of the C library's memory that the record takes for objects of the program.

    A sampled small object lies outside of the interpreter's pools, so that its death is seen. The
    place that it would have had there is taken, too, until it dies. So the program's other objects
    lie as they would.
    """
    return 0 if _births is None else _births.memory()[0]


def held_bytes() -> int:
    """Return the bytes that the record takes: its tables, and what ``doubled_bytes`` counts."""
    return 0 if _births is None else sum(_births.memory())


class BirthRecord:
    """One record at a time in a process: sampled births by line, phase and generation.

    Attributes:
        problem: why nothing is recorded, or nothing any more; None while the record works.
        native_problem: why C memory is not recorded.
    """

    def __init__(
        self,
        *,
        native: bool = True,
        interval: float | None = None,
        seed: int | None = None,
        most_share: float | None = None,
    ) -> None:
        """Set up a record; nothing is touched before it starts.

        Args:
            native: record C memory too.
            interval: mean bytes between two samples; None adapts it to the program.
            seed: of the random numbers; with the same seed, a program with one thread gets the
                same samples in each run.
            most_share: the largest share of CPU time that the record's calls may cost in a long
                run. If they would cost more, small blocks of Python are recorded in only one of
                several rounds, and that round is weighted for the others. None sets no limit.
        """
        self.problem: str | None = None
        self.native_problem: str | None = None
        self._native = native
        self._interval = interval
        self._seed = time.time_ns() if seed is None else seed
        self._most_share = most_share
        self._windows = Windows(most_share, self._seed)
        self._phases: dict[str, int] = {"": 0}
        self._running = self._open = False
        self._began = self._last = self._recorded = 0.0

    # -- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to record; if that is impossible, set ``problem`` to the reason."""
        if _births is None:
            self.problem = _NOT_BUILT
            return
        interval = self._interval or FIRST_INTERVAL
        seed = self._seed & 0xFFFF_FFFF_FFFF_FFFF
        self._began = self._last = time.process_time()
        self._recorded = 0.0
        self._windows = Windows(self._most_share, self._seed)
        self.problem = _births.start(interval, interval, seed, self._interval is None)
        self._running = self._open = self.problem is None
        self.check()

    def stop(self) -> None:
        """End the record; allocations of the program no longer pass through it."""
        if self._running and _births is not None:
            self._take_time()
            self._running = self._open = False
            _births.stop()

    @property
    def running(self) -> bool:
        """Whether births are recorded now."""
        return self._running

    # -- where the program is ---------------------------------------------------------------------

    def mark(self, generation: int, phase: str) -> None:
        """Set the round, counted from 0, and the phase that births belong to from now on."""
        if self._running and _births is not None:
            number = self._phases.get(phase)
            if number is None and len(self._phases) < _MOST_PHASES:
                number = self._phases[phase] = len(self._phases)
            _births.mark(generation, number or 0)

    def check(self) -> None:
        """Check, at the start of a generation, that births and frees are still observed.

        Libraries that were loaded since the last check are included. Then it is decided whether
        Python's small blocks are recorded in the generation that begins, or left out to limit the
        cost.
        """
        if not self._running or _births is None:
            return
        problem, self.native_problem, self._open = _births.check(self._native)
        passed = self._take_time()
        if problem is not None:
            self._running, self._open, self.problem = False, False, problem
            return
        one_in = self._windows.next(_births.small_blocks(), passed, self._open)
        self._open = _births.record_small(one_in)

    def _take_time(self) -> float:
        """Return the CPU seconds since the last call.

        They are added to the recorded time if small blocks were recorded meanwhile.
        """
        now = time.process_time()
        passed, self._last = now - self._last, now
        self._recorded += passed if self._open else 0.0
        return passed

    # -- what it knows --------------------------------------------------------------------------

    @property
    def share(self) -> float:
        """The share of the CPU time since the start in which small blocks were recorded too."""
        now = time.process_time()
        recorded = self._recorded + (now - self._last if self._open else 0.0)
        return recorded / (now - self._began) if now > self._began else 0.0

    def cohorts(self, rounds: int = 0) -> Births | None:
        """Return what is alive, by line, phase and round of birth; None without a record.

        ``rounds`` is the number of rounds so far. Blocks that are older than the last two rounds
        count as staying.
        """
        if not self._running or _births is None:
            return None
        places: dict[int, Place] = {}
        rows = _births.cohorts(places)
        _, _, (python, c) = _births.figures()
        native = None if not self._native or self.native_problem is not None else c[0]
        how = self.share, python[0], native
        return told(rows, Stacks(places), tuple(self._phases), rounds, how)

    def survivors(self, rounds: int) -> Survivors | None:
        """Return the live samples that were born in ``rounds`` of the loop; None without a record.

        Call this in a copy of the process: the program may free the blocks at any later moment, so
        their addresses are valid only while the program stands still.
        """
        if not self._running or _births is None:
            return None
        return survivors_in_copy(tuple(self._phases), rounds)


def survivors_in_copy(phases: Sequence[str], rounds: int, first: int = 0) -> Survivors:
    """Return the samples of the first ``rounds`` that were alive when this copy was made.

    Raises:
        ImportError: the compiled part was not built.
    """
    if _births is None:
        raise ImportError(_NOT_BUILT)
    places: dict[int, Place] = {}
    blocks = [Survivor(*entry) for entry in _births.survivors(first, rounds - 1, places)]
    return Survivors(blocks, Stacks(places), phases, rounds)


def births_in_copy(rounds: int) -> Births:
    """Return what was alive when this copy was made, of a process that records all rounds.

    Raises:
        ImportError: the compiled part was not built.
    """
    alive = survivors_in_copy(("",), rounds, first=_BEFORE_THE_LOOP)
    _, _, (python, c) = _births.figures()
    how = 1.0, python[0], c[0] if c[1] else None
    return told((block.row for block in alive.blocks), alive.stacks, alive.phases, rounds, how)
