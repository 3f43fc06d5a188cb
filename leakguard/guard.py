"""LeakGuard, the public face: what a user says to it and asks of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar, get_args

from leakguard.capture.allocation_sites.tracer import Trace
from leakguard.capture.expectation import Promises
from leakguard.capture.peak import PeakMeter
from leakguard.capture.recorder import Recorder
from leakguard.capture.watchlist import Watch, Watchlist
from leakguard.errors import StillAlive, UsageError
from leakguard.live import active
from leakguard.live.alarm import Alarm, OnLeak
from leakguard.live.beacon import Listener
from leakguard.live.cycle_watch import CycleWatch
from leakguard.live.governor import Governor
from leakguard.live.journal import Journal
from leakguard.live.log_sink import Log, log_sink
from leakguard.live.project_settings import checked_patterns, project_ignores
from leakguard.live.run_facts import run_facts
from leakguard.live.tracing import Tracing
from leakguard.live.watcher import Watcher
from leakguard.model import Expectation, Report, Run
from leakguard.model.snapshot import Moment
from leakguard.model.units import parse_size
from leakguard.phase import phase

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
        on_signal: int | None = None,
        collect: Literal["suspicion", "never"] = "suspicion",
        trace: Trace = "auto",
        name: str | None = None,
        ignore: Iterable[str] = (),
        report: Literal["stderr"] | None = "stderr",
        on_leak: OnLeak | None = None,
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
            on_signal: answer this signal (for example ``signal.SIGUSR1``) with a look at who holds
                what; ``leakguard snapshot PID`` sends it. Needs ``out``.
            collect: whether the guard may run the garbage collector. On ``suspicion`` it does so
                after objects that nothing holds have piled up for some generations, and once at
                the end of a generation in which a promised object seems alive; ``never`` leaves
                cycles and held objects apart only as far as a walk can tell.
            trace: how to find out where a suspect is made, once there is one: one later generation
                is traced, which makes that generation slower. ``auto`` takes ``tracemalloc`` for
                objects and ``memray`` (the extra of that name) for native memory; ``off`` traces
                nothing.
            name: name of the run in reports.
            ignore: patterns (``fnmatch``) of types, holders or fingerprints that are no news: such
                findings are listed apart and leave the verdict alone. ``ignore`` of the table
                ``[tool.leakguard]`` in the project's pyproject.toml is added.
            report: where the short report goes when the run is over: ``stderr``, or None for
                nowhere. With ``log`` the whole report is there, and nothing goes to ``stderr``.
            on_leak: called with the report of the run so far once for each leak, at the end of the
                generation that proves it, to alert, save or stop: what it raises ends the loop.
            clock: monotonic seconds.

        Raises:
            UsageError: an argument cannot be used.
        """
        if log_every < 1:
            raise UsageError(f"log_every={log_every} is not a number of generations, 1 or more")
        if max_overhead is not None and not 0 < max_overhead <= 1:
            raise UsageError(f"max_overhead={max_overhead} is not a share between 0 and 1")
        if collect not in ("suspicion", "never"):
            raise UsageError(f"collect={collect!r} is unknown; use 'suspicion' or 'never'")
        if trace not in get_args(Trace):
            choices = ", ".join(get_args(Trace))
            raise UsageError(f"trace={trace!r} is unknown; use one of {choices}")
        if report not in ("stderr", None):
            raise UsageError(f"report={report!r} is unknown; use 'stderr' or None")
        if on_leak is not None and not callable(on_leak):
            raise UsageError(f"on_leak= takes a function, not {type(on_leak).__name__}")
        self._on_screen = report is not None
        self._alarm = None if on_leak is None else Alarm(on_leak)
        self._trace: Trace = trace
        self._out = None if out is None else Path(out)
        self._sink = log_sink(log)
        self._log_every = log_every
        self._name = name
        self._ignore = checked_patterns(ignore, "LeakGuard")
        self._clock = clock
        self._max_overhead = max_overhead
        self._gauges: dict[str, tuple[Callable[[], float], float | None]] = {}
        self._recorder = Recorder(
            Watchlist(watch), self._gauges, parse_size(large_object), peaks=_peaks
        )
        if on_signal is not None and out is None:
            raise UsageError("on_signal= needs out=, the file where the answer is written")
        self._on_signal = on_signal
        self._listener: Listener | None = None
        self._promises = Promises(may_collect=collect != "never")
        self._cycles = None if collect == "never" else CycleWatch()
        self._watcher: Watcher | None = None

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> LeakGuard:
        """Open the run and become the active guard; harmless when it is already.

        Raises:
            UsageError: the run file cannot be written.
        """
        self._started()
        return self

    def stop(self) -> None:
        """End the run: stop being active, close the file, and write the report."""
        if self._watcher is not None:
            active.deactivate(self)
            if self._listener is not None:
                self._listener.close()
                self._listener = None
            self._watcher.safely(self._watcher.tracing.stop)
            self._listen(self._watcher)
            self._watcher.safely(self._watcher.journal.finish)
            self._ring()

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
        watcher = self._started()
        for index, item in enumerate(rounds):
            number = item if type(item) is int else index + 1
            watcher.safely(watcher.begin_round, number)
            try:
                yield item
            finally:
                watcher.safely(watcher.end_round)
            self._listen(watcher)
            self._ring()

    def snapshot(self, label: str, *, baseline: bool = False) -> None:
        """Record this moment; a ``baseline`` is what growth is measured against."""
        watcher = self._started()
        text = f"{label} (baseline)" if baseline and "baseline" not in label.lower() else label
        moment: Moment = "baseline" if baseline else "mark"
        watcher.mark(text, moment)

    def inspect(self, label: str = "Inspection") -> None:
        """Record this moment with a look at who holds what: containers, sizes, leak traces."""
        watcher = self._started()
        watcher.safely(watcher.inspect, label)

    def gauge(self, name: str, value: Callable[[], float], capacity: float | None = None) -> None:
        """Report a number of your own with every snapshot.

        With a ``capacity``, growth that follows the gauge is filling, not leaking.
        """
        self._gauges[name] = (value, capacity)

    def expect_freed(self, target: object, why: str = "") -> None:
        """Say that ``target``, or every element of it, should be gone when this generation ends.

        Only weak references are kept. What is still alive after a collection is a finding.
        """
        watcher = self._started()
        watcher.safely(self._promise, target, why)

    def assert_freed(self) -> None:
        """Judge what ``expect_freed`` was told so far, now.

        Raises:
            StillAlive: something is still referenced; the message says how many of what.
        """
        watcher = self._started()
        survivors = self._promises.collect()
        held = watcher.holders_of(survivors)
        alive = [outcome for outcome in self._promises.judge(held) if outcome.alive]
        if alive:
            raise StillAlive("; ".join(map(_still_alive, alive)))

    # -- what the guard knows -------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The run so far, as values."""
        return self._started().journal.run()

    def report(self) -> Report:
        """Diagnose the run so far."""
        from leakguard.analysis import diagnose

        return diagnose(self.run)

    # -- inside ---------------------------------------------------------------------------------

    def enter_phase(self, name: str) -> Callable[[BaseException | None], None] | None:
        """Begin a phase and return what ends it; ``phase`` calls this."""
        return self._started().enter_phase(name)

    def _started(self) -> Watcher:
        if self._watcher is None:
            info = run_facts(
                self._name,
                self._recorder.large_object,
                self._max_overhead,
                tuple(dict.fromkeys((*self._ignore, *project_ignores()))),
            )
            self._watcher = Watcher(
                Journal(info, self._out, self._sink, self._log_every, self._on_screen),
                self._recorder,
                Governor(self._max_overhead, self._clock),
                self._promises,
                self._clock,
                cycles=self._cycles,
                tracing=Tracing(self._trace),
            )
            if self._on_signal is not None and self._out is not None:
                self._listener = Listener(self._on_signal, self._out, self._watcher.request)
            active.activate(self)
            self._watcher.start()
        return self._watcher

    def _listen(self, watcher: Watcher) -> None:
        if self._alarm is not None:
            watcher.safely(self._alarm.listen, watcher.journal)

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.ring()

    def _promise(self, target: object, why: str) -> None:
        problem = self._promises.add(target, why)
        if problem is not None:
            self._started().problems["expect_freed"] = problem


def expect_freed(target: object, why: str = "") -> None:
    """Tell the active guard that ``target`` should be gone when this generation ends."""
    guard = active.active_guard()
    if guard is not None:
        guard.expect_freed(target, why)


def _still_alive(outcome: Expectation) -> str:
    why = f" ({outcome.why})" if outcome.why else ""
    holder = f", held by {outcome.held_by}" if outcome.held_by else ""
    return f"{outcome.alive} of {outcome.expected} {outcome.type} still alive{why}{holder}"
