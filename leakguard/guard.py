"""LeakGuard, the public interface."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import TypeVar, overload

from leakguard.alarm import pass_on
from leakguard.capture.probe import reason_of
from leakguard.capture.watchlist import Watch
from leakguard.errors import LeakguardError, StillAlive, UsageError
from leakguard.live import active
from leakguard.live.active import Leave
from leakguard.live.assembly import new_guarded_run
from leakguard.live.call_stack import gives_way, with_room
from leakguard.live.diagnosing import OnLeak
from leakguard.live.ending import Ending
from leakguard.live.generations import Generation, Generations, checked_rounds
from leakguard.live.guarded_run import GuardedRun
from leakguard.live.names import plain_text, plain_truth
from leakguard.live.off_switch import is_switched_off
from leakguard.live.settings import Settings, Share, Signal, checked_settings
from leakguard.live.sinks import Log, Sink, complain
from leakguard.model import Expectation, Report, Run, Snapshot
from leakguard.model.units import parse_size
from leakguard.phase import phase

T = TypeVar("T")


class LeakGuard:
    """Watch a training loop for memory that grows every generation.

    Example::

        guard = LeakGuard(watch={Environment: 2}, out="runs/erl.jsonl", log=sys.stdout)
        with guard:
            guard.snapshot("Trainer initialized", baseline=True)
            for generation in guard.generations(range(1, 26)):
                with guard.phase("evaluate_population"):
                    ...

    Used without ``with``, the guard starts at its first call and ends at ``stop()``, or with the
    process. Its own errors never reach the loop: they become notes in the next snapshot. After its
    end, ``with`` or ``start`` begins another run. With ``LEAKGUARD=off`` in the environment it does
    nothing.
    """

    def __init__(
        self,
        watch: Watch = (),
        *,
        out: str | os.PathLike[str] | None = None,
        log: Log | None = None,
        log_every: int = 1,
        large_object: str | float = "50 MB",
        max_overhead: Share = 0.01,
        on_signal: Signal = None,
        collect: str = "suspicion",
        trace: str = "auto",
        name: str | None = None,
        ignore: Iterable[str] = (),
        report: str | None = "stderr",
        on_leak: OnLeak | None = None,
        sinks: Iterable[Sink] = (),
        max_file_size: str | float | None = "100 MB",
        generation_means: str | None = None,
        prove: bool = False,
        black_box: bool = True,
        clock: Callable[[], float] = time.perf_counter,
        follows: Callable[[], bool] = lambda: True,
    ) -> None:
        """Set up a guard; nothing is measured or opened before it starts.

        Args:
            watch: classes with the count, or (low, high) range, of instances that should be alive;
                a class alone, or a list of classes, is counted without an expectation.
            out: JSON lines file; a run is appended to what it holds. A folder that exists, a path
                that ends with a slash and a URL (``s3://bucket/job/``) are a run directory, in
                which each process of a job has a file of its own.
            log: stream, logger or function that gets the text blocks and the final report.
            log_every: write the blocks of every n-th generation only.
            large_object: objects of this size and more are listed one by one.
            max_overhead: share of wall time that looks at the heap may cost, 0.01 or ``"1%"``; a
                short run may cost 0.1 s of CPU and three looks instead, and more while memory
                rises (0.2 s and 5 % of its time, a second at most); ``leakguard.live.purse`` says
                it all. None looks at every generation, whatever it costs.
            on_signal: answer this signal (for example ``"SIGUSR1"``) with a look at who holds
                what, and ``leakguard snapshot PID``, too. Needs ``out``.
            collect: whether the guard may run the garbage collector. On ``suspicion`` it does so
                after objects that nothing holds have piled up for some generations, and once at
                the end of a generation in which a promised object seems alive; ``never`` leaves
                cycles and held objects apart only as far as a walk can tell.
            trace: how to find out where a suspect is made: ``auto`` reads it from sampled births,
                and where these are not recorded traces one later generation, which makes that
                generation slower. ``tracemalloc`` (for objects) and ``memray`` (the extra of that
                name, for native memory) trace one in any case; ``off`` traces nothing.
            name: name of the run in reports.
            ignore: patterns (``fnmatch``) of types, holders or fingerprints that are no news: such
                findings are listed apart and leave the verdict alone. ``ignore`` of the table
                ``[tool.leakguard]`` in the project's pyproject.toml is added.
            report: where the short report goes when the run is over: ``stderr``, or None for
                nowhere. With ``log`` the whole report is there, and nothing goes to ``stderr``.
            on_leak: called with the report of the run so far once for each leak, at the end of the
                generation that proves it, to alert, save or stop: what it raises ends the loop.
            sinks: dashboards and loggers that get the numbers of each generation and the verdict at
                the end; ``leakguard.integrations.sinks`` has some. One that raises is a note.
            max_file_size: a run that comes to so much of its file is thinned to half of it: early
                generations are dropped, evenly, and all looks and extremes stay. At least 1 MB;
                None writes every generation, which is about 2 kB each and 1 kB more for a phase.
            prove: cut what the leading findings are held by, when the run is over, in a copy of the
                process, and report what the allocators released there. It takes seconds, and is not
                done where it could reach beyond the copy (finalizers, files, sockets, devices).
            generation_means: what one generation is, in words for the report: ``"100 batches"``.
            black_box: near a limit of memory (85 % and 95 % of a cgroup's, of the process's own or
                of what the machine has left), record once each who holds it, so that a run that
                dies of memory leaves evidence. Needs ``out``.
            clock: monotonic seconds. A clock that is none of the module ``time`` measures the
                guard's own cost, too.
            follows: returns whether objects that were gained are followed to their holders before
                the last look.

        Raises:
            UsageError: an argument cannot be used.
        """
        self._settings = checked_settings(
            watch=watch,
            out=out,
            log=log,
            log_every=log_every,
            large_object=large_object,
            max_overhead=max_overhead,
            on_signal=on_signal,
            collect=collect,
            trace=trace,
            name=name,
            ignore=ignore,
            report=report,
            on_leak=on_leak,
            sinks=sinks,
            prove=prove,
            clock=clock,
            max_file_size=max_file_size,
            generation_means=generation_means,
            black_box=black_box,
        )
        self._follows = follows
        self._gauges: dict[str, tuple[Callable[[], float], float | None]] = {}
        self._guarded: GuardedRun | None = None
        self._ending: Ending | None = None
        self._entered = 0

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> LeakGuard:
        """Open the run and become the active guard; harmless if it is open already.

        Raises:
            UsageError: the run file cannot be written.
        """
        if self._guarded is not None and self._guarded.safety.over:
            self._guarded = None
        self._leave_parent()
        self._started()
        return self

    def stop(self) -> None:
        """End the run: take a last look, close the file, and write the report to the log."""
        self._stop(failed=False)

    def __enter__(self) -> LeakGuard:
        self.start()
        self._entered += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._entered = max(self._entered - 1, 0)
        if not self._entered:
            self._stop(failed=kind is not None, error=error)

    # -- what the user says ---------------------------------------------------------------------

    def phase(self, name: str) -> phase:
        """Return a phase of this guard, for ``with`` or as a decorator."""
        return phase(name, self)

    @overload
    def generations(self, rounds: AsyncIterable[T]) -> Generations[T]: ...
    @overload
    def generations(self, rounds: Iterable[T]) -> Generations[T]: ...
    @overload
    def generations(self, rounds: int | None = None) -> Generations[int]: ...
    def generations(
        self, rounds: Iterable[T] | AsyncIterable[T] | int | None = None
    ) -> Generations[T] | Generations[int]:
        """Return ``rounds`` for a loop, ``for`` or ``async for``; each item is a generation.

        A number stands for that many generations, counted from 0; without an argument the loop has
        no end. Items that are integers number their generations themselves; other items are counted
        from 1.

        Raises:
            UsageError: ``rounds`` cannot be looped over.
        """
        self._leave_parent()
        return Generations(self._started().loop, checked_rounds(rounds))

    def generation(self, number: int | None = None) -> Generation:
        """Begin a generation: ``with guard.generation(): ...``, or a call at its beginning.

        A generation begun by a call ends at the next call, or with the run. Numbers count from 1
        unless ``number`` is given. If ``number`` is not an integer, the generation is counted, too.
        """
        self._leave_parent()
        return Generation(self._started().loop, number)

    @gives_way
    def announce(self, total: int | None) -> None:
        """Tell the guard how many generations the next loop will have; None if unknown.

        The middle one gets a look in any case. ``generations()`` knows the number by itself; this
        method is for callers of ``generation()``.
        """
        self._leave_parent()
        self._started().loop.announce(total)

    @gives_way
    def outer_round(self, level: str = "epoch") -> None:
        """Tell the guard that a round of an outer level begins, such as an epoch of many steps.

        Call it where a generation is a part of something larger. The report then says at which
        level memory grows: within an epoch, from epoch to epoch, at each evaluation. ``level`` is
        the noun for one such round: ``epoch``, ``rollout``, ``validation``, ``evaluation``.
        """
        self._leave_parent()
        self._started().loop.outer_round(plain_text(level))

    @gives_way
    def snapshot(self, label: str, *, baseline: bool = False) -> None:
        """Record this moment; growth is measured from a ``baseline``."""
        text, is_baseline = plain_text(label), plain_truth(baseline)
        text = f"{text} (baseline)" if is_baseline and "baseline" not in text.lower() else text
        self._started().mark(text, baseline=is_baseline)

    @gives_way
    def inspect(self, label: str = "Inspection") -> None:
        """Record this moment with a look at the holders: containers, sizes, leak traces."""
        self._started().inspect(plain_text(label))

    def gauge(
        self, name: str, value: Callable[[], float], capacity: float | str | None = None
    ) -> None:
        """Report a number of your own with every snapshot.

        With a ``capacity``, a number or a size such as ``"50 MB"``, growth that follows the gauge
        is filling, not leaking.

        Raises:
            UsageError: ``value`` is not a function, or ``capacity`` is not a size. Once the run has
                begun, this becomes a note in the next snapshot instead.
        """
        try:
            self._gauges[plain_text(name)] = _gauge(value, capacity)
        except UsageError as error:
            if self._guarded is None:
                raise
            self._guarded.safety.note(f"gauge {plain_text(name)}", str(error))

    @gives_way
    def expect_freed(self, target: object, why: str = "") -> None:
        """Promise that ``target``, or every element of it, is gone when this generation ends.

        Only weak references are kept. An object that is alive after a collection is a finding.
        """
        self._started().promise(target, plain_text(why))

    def assert_freed(self) -> None:
        """Judge the promises that ``expect_freed`` has recorded so far, now.

        Raises:
            StillAlive: something is still referenced; the message gives the count and the type.
        """
        alive = [outcome for outcome in self._started().judged_promises() if outcome.alive]
        if alive:
            raise StillAlive("; ".join(map(_still_alive, alive)))

    # -- what the guard knows -------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether a run has begun and not ended."""
        return self._guarded is not None and not self._guarded.safety.over

    @property
    def run(self) -> Run:
        """The run so far, as values."""
        return self._started().run_so_far()

    def report(self) -> Report:
        """Diagnose the run so far."""
        from leakguard.analysis import diagnose

        return diagnose(self.run)

    # -- inside ---------------------------------------------------------------------------------

    def look_now(self) -> Snapshot | None:
        """Return a look that another process asked for; None if no run goes on."""
        return None if self._guarded is None else self._guarded.look_now()

    def abandon(self) -> None:
        """Close the run as it is: no last look, no report."""
        if self._guarded is not None:
            self._guarded.let_go()
        self._abandon()

    def enter_phase(self, name: str) -> Leave | None:
        """Begin a phase and return the function that ends it; ``phase`` calls this."""
        return self._started().enter_phase(name)

    def _leave_parent(self) -> None:
        """Give a forked child that begins a loop its own run in the run directory."""
        guarded = self._guarded
        if self._settings.directory is None or guarded is None or guarded.safety.at_home:
            return
        active.deactivate(self)
        self._guarded, self._ending, self._entered = None, None, 0

    def _started(self) -> GuardedRun:
        if self._guarded is not None:
            return self._guarded
        return with_room(self._begun)

    def _begun(self) -> GuardedRun:
        """Begin a run; an exception here, even an interrupt, leaves nothing behind.

        If the process has no descriptor or memory left, the program continues without being
        watched.
        """
        try:
            settings = self._settings.for_this_process()
            if is_switched_off():
                return self._off(settings)
            guarded = self._guarded = new_guarded_run(settings, self._gauges, self._follows)
            ending = self._ending = Ending(settings, guarded, self._stop)
            ending.listen()
            active.activate(self)
            guarded.start()
        except BaseException as error:
            self._abandon()
            if isinstance(error, LeakguardError) or not isinstance(error, Exception):
                raise
            pass_on(error)
            complain(f"this run is not watched: {reason_of(error)}")
            return self._off(self._settings)
        return guarded

    def _off(self, settings: Settings) -> GuardedRun:
        """Begin a run that is already over: all calls are accepted, and nothing is recorded."""
        silent = replace(settings, out=None, directory=None, sink=None, sinks=(), on_screen=False)
        guarded = self._guarded = new_guarded_run(silent, {}, self._follows)
        guarded.safety.over = True
        return guarded

    def _abandon(self) -> None:
        active.deactivate(self)
        if self._ending is not None:
            self._ending.close()
            self._ending.leave()
        if self._guarded is not None:
            self._guarded.close()
        self._guarded = self._ending = None

    def _stop(self, *, failed: bool, error: BaseException | None = None) -> None:
        if self._guarded is not None:
            self._guarded.note_failure(error)
        active.deactivate(self)
        ending = self._ending
        try:
            if ending is not None:
                ending.close()
            if self._guarded is not None:
                self._guarded.end(failed=failed)
        finally:
            if ending is not None:
                ending.leave()
        self._ending = None  # reset once all is done, because an interrupt may come before
        if self._guarded is not None:
            self._guarded.loop.ring()


def expect_freed(target: object, why: str = "") -> None:
    """Promise the active guard that ``target`` is gone when this generation ends."""
    guard = active.active_guard()
    if guard is not None:
        guard.expect_freed(target, why)


def _gauge(
    value: Callable[[], float], capacity: float | str | None
) -> tuple[Callable[[], float], float | None]:
    if not callable(value):
        raise UsageError(
            f"a gauge takes a function that returns the number, not {type(value).__name__}; "
            "write for example lambda: len(buffer)"
        )
    return value, None if capacity is None else float(parse_size(capacity))


def _still_alive(outcome: Expectation) -> str:
    why = f" ({outcome.why})" if outcome.why else ""
    holder = f", held by {outcome.held_by}" if outcome.held_by else ""
    return f"{outcome.alive} of {outcome.expected} {outcome.type} still alive{why}{holder}"
