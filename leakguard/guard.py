"""LeakGuard watches a loop: it records what every phase leaves behind and says what leaks."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from leakguard import current
from leakguard.capture.expectation import Promises
from leakguard.capture.governor import Governor
from leakguard.capture.peak import PeakMeter
from leakguard.capture.probe import Unavailable
from leakguard.capture.recorder import Recorder
from leakguard.capture.run_facts import run_facts
from leakguard.capture.type_counts import TypeCounts
from leakguard.capture.watchlist import Watch, Watchlist
from leakguard.errors import StillAlive, UsageError
from leakguard.journal import Journal
from leakguard.log_sink import Log, log_sink
from leakguard.model import Cost, Expectation, Report, Run, Snapshot
from leakguard.model.units import parse_size
from leakguard.phase import phase
from leakguard.round import Round

T = TypeVar("T")

_peaks = PeakMeter()  # the kernel keeps one high-water mark a process, so guards share one meter


class LeakGuard:
    """Watch a training loop for memory that grows every generation.

    Example::

        guard = LeakGuard(watch={Environment: 2}, out="runs/erl.jsonl", log=sys.stdout)
        with guard:
            guard.snapshot("Trainer initialized", baseline=True)
            for generation in guard.generations(range(1, 26)):
                with guard.phase("evaluate_population"):
                    ...

    Used without ``with``, the guard starts at its first call and ends at ``stop()``. It never
    raises into the loop because of itself: what fails becomes a note in the next snapshot.
    """

    def __init__(
        self,
        watch: Watch = (),
        *,
        out: str | os.PathLike[str] | None = None,
        log: Log | None = None,
        log_every: int = 1,
        large_object: str | int = "50 MB",
        max_overhead: float | None = 0.01,
        name: str | None = None,
        ignore: Iterable[str] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Set up a guard; nothing is measured or opened before it starts.

        Args:
            watch: classes with the count, or (low, high) range, of instances that should be alive;
                a list of classes counts them without an expectation.
            out: JSON lines file; a run is appended to what it holds.
            log: stream, logger or function that gets the text blocks and the final report.
            log_every: write the blocks of every n-th generation only.
            large_object: objects of this size and more are listed one by one.
            max_overhead: share of wall time the guard may cost after its first eight generations;
                None looks at every generation whatever it costs.
            name: name of the run in reports.
            ignore: patterns of types or holders that are not to be reported (``fnmatch``).
            clock: monotonic seconds.

        Raises:
            UsageError: an argument cannot be used.
        """
        if log_every < 1:
            raise UsageError(f"log_every={log_every} is not a number of generations, 1 or more")
        if max_overhead is not None and not 0 < max_overhead <= 1:
            raise UsageError(f"max_overhead={max_overhead} is not a share between 0 and 1")
        self._out = None if out is None else Path(out)
        self._sink = log_sink(log)
        self._log_every = log_every
        self._name = name
        self._ignore = tuple(ignore)
        self._clock = clock
        self._max_overhead = max_overhead
        self._gauges: dict[str, tuple[Callable[[], float], float | None]] = {}
        self._recorder = Recorder(Watchlist(watch), self._gauges, parse_size(large_object))
        self._promises = Promises()
        self._lock = threading.RLock()
        self._problems: dict[str, str] = {}
        self._round = Round()
        self._rounds = 0
        self._journal: Journal | None = None
        self._pid = 0

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> LeakGuard:
        """Open the run and become the active guard; harmless when it is already."""
        if self._journal is not None:
            return self
        info = run_facts(
            self._name, self._recorder.large_object, self._max_overhead, self._ignore
        )
        self._journal = Journal(info, self._out, self._sink, self._log_every)
        self._governor = Governor(self._max_overhead, self._clock)
        self._began = self._clock()
        self._pid = os.getpid()
        current.activate(self)
        self._safely(self._record, Snapshot(0, "Run started"), deep=True)
        return self

    def stop(self) -> None:
        """End the run: stop being active, close the file, and write the report to the log."""
        if self._journal is None or self._closed:
            return
        current.deactivate(self)
        self._safely(self._journal.finish)

    def __enter__(self) -> LeakGuard:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    # -- what the user says ---------------------------------------------------------------------

    def phase(self, name: str) -> phase:
        """Return a phase of this guard, for ``with`` or as a decorator."""
        return phase(name, self)

    def generations(self, rounds: Iterable[T]) -> Iterator[T]:
        """Yield from ``rounds``, each one a generation of the run.

        Integers keep their own number; anything else is counted from 1.
        """
        self.start()
        for index, item in enumerate(rounds):
            number = item if type(item) is int else index + 1
            self._safely(self._begin_round, number)
            try:
                yield item
            finally:
                self._safely(self._end_round)

    def snapshot(self, label: str, *, baseline: bool = False) -> None:
        """Record this moment; a ``baseline`` is what growth is measured against."""
        self.start()
        text = f"{label} (baseline)" if baseline and "baseline" not in label.lower() else label
        moment = "baseline" if baseline else "mark"
        self._safely(
            self._record, Snapshot(0, text, moment, generation=self._round.number), deep=True
        )

    def gauge(
        self, name: str, value: Callable[[], float], capacity: float | None = None
    ) -> None:
        """Report a number of your own with every snapshot.

        With a ``capacity``, growth that follows the gauge is filling, not leaking.
        """
        self._gauges[name] = (value, capacity)

    def expect_freed(self, target: object, why: str = "") -> None:
        """Say that ``target``, or every element of it, should be gone when this generation ends.

        Only weak references are kept. What is still alive after a collection is a finding.
        """
        self.start()
        self._safely(self._promise, target, why)

    def assert_freed(self) -> None:
        """Judge what ``expect_freed`` was told so far, now.

        Raises:
            StillAlive: something is still referenced; the message says how many of what.
        """
        alive = [outcome for outcome in self._promises.judge() if outcome.alive]
        if alive:
            raise StillAlive("; ".join(map(_still_alive, alive)))

    # -- what the guard knows -------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The run so far, as values."""
        return self.start()._open_journal.run()

    def report(self) -> Report:
        """Diagnose the run so far."""
        from leakguard.analysis import diagnose

        return diagnose(self.run)

    # -- recording ------------------------------------------------------------------------------

    @property
    def _open_journal(self) -> Journal:
        assert self._journal is not None
        return self._journal

    @property
    def _closed(self) -> bool:
        return self._journal is not None and self._journal.finished

    @property
    def _watching(self) -> bool:
        """False after the run, and in a forked child: its file belongs to the parent."""
        return self._journal is not None and not self._closed and os.getpid() == self._pid

    def _safely(self, action: Callable[..., None], *args: object, **kwargs: object) -> None:
        """Run ``action``; the watched program never fails because of the guard."""
        if self._journal is not None and not self._watching:
            return
        try:
            with self._lock:
                action(*args, **kwargs)
        except Exception as error:
            self._problems["guard"] = f"{type(error).__name__}: {error}"

    def _begin_round(self, number: int) -> None:
        deep = self._governor.due()
        self._round = Round(self._rounds, number, deep, self._round.counts())
        self._rounds += 1
        self._round_reading = self._recorder.read().metrics
        self._round_ticket = _peaks.start()
        self._round_began = self._clock()
        self._round_cost = self._governor.spent

    def _end_round(self) -> None:
        round_ = self._round
        snapshot = Snapshot(
            0,
            f"Gen {round_.number}: End of generation",
            "generation",
            generation=round_.number,
            metrics=self._peak(self._round_ticket),
            entry=self._round_reading,
            phases=round_.totals(),
            expectations=self._promises.judge(),
        )
        self._record(snapshot, deep=round_.deep)
        if round_.deep:
            self._governor.looked(self._governor.spent - self._round_cost)
        self._round = Round(previous=round_.counts())

    def _enter_phase(self, name: str) -> Callable[[BaseException | None], None] | None:
        """Begin a phase; return what ends it, or None when it is not to be measured."""
        outer = current.open_phases()
        if name in outer or not self.start()._watching:
            return None
        current.set_open_phases((*outer, name))
        visit = _PhaseVisit(self, "/".join((*outer, name)), outer)
        self._safely(visit.begin)
        return visit.end

    def _promise(self, target: object, why: str) -> None:
        problem = self._promises.add(target, why)
        if problem is not None:
            self._problems["expect_freed"] = problem

    def _peak(self, ticket: int) -> dict[str, int | float]:
        try:
            return {"peak": _peaks.stop(ticket)}
        except Unavailable as reason:
            self._problems["peak"] = str(reason)
            return {}

    def _record(self, snapshot: Snapshot, *, deep: bool, before: TypeCounts | None = None) -> None:
        began = self._clock()
        journal = self._open_journal
        problems, self._problems = self._problems, {}
        filled = self._recorder.fill(
            replace(
                snapshot,
                serial=journal.next_serial,
                seconds=began - self._began,
                unavailable=problems,
            ),
            deep=deep,
            before=before,
        )
        cost = self._clock() - began
        self._governor.charge(cost)
        journal.add(replace(filled, cost=Cost(cost, int(deep))), self._round.index)
        if deep:
            self._recorder.settle()


class _PhaseVisit:
    """One run of one phase, from its entry to its end."""

    def __init__(self, guard: LeakGuard, name: str, outer: tuple[str, ...]) -> None:
        self._guard = guard
        self._name = name
        self._outer = outer
        self._entry: Mapping[str, int | float] = {}
        self._ticket: int | None = None
        self._counts: TypeCounts | None = None
        self._round = guard._round
        self._writes, self._deep = self._round.enter(name)

    def begin(self) -> None:
        guard = self._guard
        began = guard._clock()
        if self._deep:
            self._counts = guard._recorder.counts()
        self._ticket = _peaks.start()
        self._entry = guard._recorder.read().metrics
        self._began = guard._clock()
        guard._governor.charge(self._began - began)

    def end(self, error: BaseException | None) -> None:
        current.set_open_phases(self._outer)
        self._guard._safely(self._record, error)

    def _record(self, error: BaseException | None) -> None:
        if self._ticket is None:
            return
        guard = self._guard
        seconds = guard._clock() - self._began
        after = guard._recorder.read().metrics
        self._round.leave(self._name, seconds, self._entry, after)
        peak = guard._peak(self._ticket)
        if not self._writes:
            return
        number = self._round.number
        label = self._name if number is None else f"Gen {number}: After {self._name}"
        snapshot = Snapshot(
            0,
            label,
            "phase",
            self._name,
            number,
            metrics={**after, **peak},
            entry=self._entry,
            extra={} if error is None else {"Ended by": (type(error).__name__,)},
        )
        guard._record(snapshot, deep=self._deep, before=self._counts)


def expect_freed(target: object, why: str = "") -> None:
    """Tell the active guard that ``target`` should be gone when this generation ends."""
    guard = current.active_guard()
    if guard is not None:
        guard.expect_freed(target, why)


def _still_alive(outcome: Expectation) -> str:
    why = f" ({outcome.why})" if outcome.why else ""
    holder = f", held by {outcome.held_by}" if outcome.held_by else ""
    return f"{outcome.alive} of {outcome.expected} {outcome.type} still alive{why}{holder}"
