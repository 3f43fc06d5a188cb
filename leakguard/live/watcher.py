"""The recording half of a guard: rounds, phases and moments become snapshots."""

from __future__ import annotations

import functools
import importlib
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from leakguard.capture.expectation import Promises
from leakguard.capture.heap import Held, Inspection
from leakguard.capture.heap.collector import collector_held
from leakguard.capture.packed import PackedCounts, PackedMeasurement
from leakguard.capture.probe import Unavailable
from leakguard.capture.recorder import Observation, Recorder
from leakguard.live import active
from leakguard.live.cycle_watch import CycleWatch
from leakguard.live.governor import Governor
from leakguard.live.journal import Journal
from leakguard.live.phase_visit import PhaseVisit
from leakguard.live.round import Round
from leakguard.live.suspicion import Suspicion
from leakguard.live.tracing import Tracing, suspects_of
from leakguard.model import Collection, Cost, Site, Snapshot
from leakguard.model.holder import Hop
from leakguard.model.snapshot import Moment

T = TypeVar("T")
Ask = Callable[[Observation], "Inspection | None"]
REQUESTED = "Requested by a signal"


@dataclass(slots=True)
class _OpenRound:
    """What was true when the running generation began."""

    reading: PackedMeasurement
    ticket: int
    spent: float
    began: float


@dataclass(slots=True)
class Watcher:
    """Turns what happens in a loop into snapshots in a journal.

    Nothing in here raises into the watched program: what fails becomes a note in the next
    snapshot. In a forked child it does nothing, since the file belongs to the parent.
    """

    journal: Journal
    recorder: Recorder
    governor: Governor
    promises: Promises
    clock: Callable[[], float]
    problems: dict[str, str] = field(default_factory=dict)
    cycles: CycleWatch | None = None
    suspicion: Suspicion = field(default_factory=Suspicion)
    round: Round = field(default_factory=Round)
    tracing: Tracing = field(default_factory=Tracing)
    _open: _OpenRound | None = None
    _collection: Collection | None = None
    _inside: int | None = None
    _promised: int = 0
    _grew: bool = False
    _swelled: bool = False
    _late: float = 0.0
    _requested: bool = False
    _rounds: int = 0
    _began: float = 0.0
    _pid: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._pid = os.getpid()

    @property
    def watching(self) -> bool:
        """False once the run has ended, and in a forked child."""
        return not self.journal.finished and os.getpid() == self._pid

    def safely(self, action: Callable[..., None], *args: object) -> None:
        """Run ``action`` unless the run has ended; whatever it raises becomes a note.

        The collector is held back: what the guard allocates would set it off, and it would free
        the cycles that the program would have kept.
        """
        if not self.watching:
            return
        try:
            with self._lock, self.governor.at_work(), collector_held():
                outer, self._inside = self._inside, threading.get_ident()
                try:
                    action(*args)
                finally:
                    self._inside = outer
        except Exception as error:
            self.problems["guard"] = f"{type(error).__name__}: {error}"
        if self._requested and self._inside is None:
            self._requested = False
            self.safely(self.inspect, REQUESTED)

    def request(self) -> None:
        """Record a look that a signal asked for: now, or when the guard's own work is done.

        A signal may arrive in the middle of that work, in the very thread that does it.
        """
        if self._inside == threading.get_ident():
            self._requested = True
        else:
            self.safely(self.inspect, REQUESTED)

    def start(self) -> None:
        """Record the start of the run."""
        self.safely(self._mark, "Run started", "mark")
        self.recorder.keep_first()

    def mark(self, label: str, moment: Moment) -> None:
        """Record a moment that the user named; growth is counted from a baseline on."""
        self.recorder.check_kept()
        self.safely(self._mark, label, moment)

    def _mark(self, label: str, moment: Moment) -> None:
        number = self.round.number
        self.record(
            lambda: Snapshot(0, label, moment, generation=number),
            deep=True,
            ask=self._note_baseline if moment == "baseline" else None,
        )

    def begin_round(self, number: int) -> None:
        """Begin a generation."""
        deep = self.governor.due()
        if not self._rounds:
            self._settle_in()
        self.tracing.begin()
        # A walk allocates for each array, and a traced allocation costs many times as much.
        looks_further = (self._grew or self.governor.spares_nothing) and not self.tracing.running
        phases_deep = deep and looks_further
        self.round = Round(self._rounds, number, deep, phases_deep, self.round.counts())
        self._rounds += 1
        reading = self.recorder.read()
        ticket = self.recorder.peaks.start(reading.high_water)
        self._open = _OpenRound(reading, ticket, self.governor.spent, self.clock())
        if (problem := self.tracing.problem()) is not None:
            self.problems["created_at"] = problem

    def _settle_in(self) -> None:
        """Make what the guard keeps from look to look before the first round is measured.

        Its memory of paths and the modules of the diagnosis would look like growth of the program.
        """
        importlib.import_module("leakguard.analysis")
        before = self.governor.spent
        self._asked(self.recorder.remember)
        self.governor.priced(self.governor.spent - before)

    def end_round(self) -> None:
        """End the generation: judge its promises and record it."""
        if self._open is None:
            return
        round_, opened, self._open = self.round, self._open, None
        traced = self.tracing.running
        slowdown = self.tracing.timed(self.clock() - opened.began, traced)
        samples = self._traced_objects()
        survivors = self.promises.collect()
        if not (round_.deep or self.governor.due()):
            survivors.clear()  # they count as alive; who holds them would cost too much to ask
        self._promised = len(survivors)
        survivors += samples
        samples.clear()
        peak = self.peak_of(opened.ticket, self.recorder.read())
        self.record(
            lambda: Snapshot(
                0,
                f"Gen {round_.number}: End of generation",
                "generation",
                generation=round_.number,
                metrics=peak,
                entry=opened.reading.unpack().metrics,
                phases=round_.totals(),
                cost=Cost(slowdown=slowdown),
            ),
            deep=round_.deep,
            ask=lambda seen: self._look(seen, survivors),
        )
        self._choose_what_to_trace()
        if round_.deep and not traced:
            self.governor.looked(self.governor.spent - opened.spent)
        self.round = round_.after()

    def inspect(self, label: str) -> None:
        """Record a moment with a look at who holds what."""
        number = self.round.number
        self.record(
            lambda: Snapshot(0, label, "mark", generation=number),
            deep=True,
            ask=lambda seen: self.recorder.inspect([]),
        )

    def holders_of(self, objects: list[object]) -> tuple[Held | None, ...]:
        """Say who holds each of ``objects`` and forget them; nothing where that fails."""
        try:
            return self.recorder.inspect(objects).held if objects else ()
        except Exception as error:
            self.problems["holders"] = f"{type(error).__name__}: {error}"
            return ()
        finally:
            objects.clear()

    def _traced_objects(self) -> list[object]:
        """End a traced generation; return some objects that it left behind."""
        try:
            return self.tracing.survivors()
        except Exception as error:
            self.tracing.stop()
            self.problems["created_at"] = f"{type(error).__name__}: {error}"
            return []

    def _traced_sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        """Return where they were made, with what holds them."""
        try:
            return self.tracing.sites([who.held_by if who else None for who in held])
        except Exception as error:
            self.problems["created_at"] = f"{type(error).__name__}: {error}"
            return ()

    def _choose_what_to_trace(self) -> None:
        """Where something grew: see in the run so far what a traced generation could tell."""
        grew = self._grew or self._swelled
        if self.round.deep and grew and self.tracing.worth_asking(self._rounds):
            began = self.clock()
            self.tracing.choose(self._rounds, lambda: suspects_of(self.journal.run()))
            self._late = self.clock() - began

    def _note_baseline(self, seen: Observation) -> None:
        if seen.census is not None:
            self.suspicion.note(seen.census.types)

    def _look(self, seen: Observation, survivors: list[object]) -> Inspection | None:
        """Find out who holds what, where something grew or should be gone."""
        self._note_growth(seen)
        grew = seen.census is not None and self._grew
        try:
            if not (grew or survivors):
                return None
            suspects = self.suspicion.suspects() if grew else ()
            watch = self.cycles
            note = functools.partial(watch.note, seen.too_many) if watch else None
            found = self.recorder.inspect(survivors, suspects, note)
        finally:
            survivors.clear()
        ways = found.cycles
        if watch is not None and ways is not None and watch.calls_for_collection(ways.keys()):
            self._collect_cycles(ways, watch)
        return found

    def _note_growth(self, seen: Observation) -> None:
        if seen.live_memory is not None:
            self._swelled = self.suspicion.note_memory(seen.live_memory)
        if seen.census is not None:
            objects = self.suspicion.note(seen.census.types)
            children = self.suspicion.note_children(int(seen.metrics.get("children", 0)))
            self._grew = objects or children or bool(seen.too_many)

    def _collect_cycles(self, ways: Mapping[str, tuple[Hop, ...]], watch: CycleWatch) -> None:
        """Free the cycles; keep the ways back of the classes that were freed."""
        freed = self.recorder.collect()
        told = {name: way for name, way in ways.items() if name in freed.types}
        self._collection = replace(freed, cycles=told)
        self._grew = True  # which phase made them: the next round tells
        self.suspicion.begin_again()
        watch.collected()

    def enter_phase(self, name: str) -> Callable[[BaseException | None], None] | None:
        """Begin a phase and return what ends it; None when it is open around here already."""
        outer = active.open_phases()
        if name in outer or not self.watching:
            return None
        active.set_open_phases((*outer, name))
        visit = PhaseVisit(self, "/".join((*outer, name)), outer)
        self.safely(visit.begin)
        return visit.end

    def peak_of(self, ticket: int, reading: PackedMeasurement) -> dict[str, int | float]:
        """End the peak that ``ticket`` stands for; empty, with a note, where it is unknown."""
        try:
            return {"peak": self.recorder.peaks.stop(ticket, reading.high_water)}
        except Unavailable as reason:
            self.problems["peak"] = str(reason)
            return {}

    def record(
        self,
        make: Callable[[], Snapshot],
        *,
        deep: bool,
        before: PackedCounts | None = None,
        ask: Ask | None = None,
    ) -> None:
        """Look at the process, then make the snapshot: what it is made of must not be counted.

        ``ask`` may look further, at who holds what.
        """
        began = self.clock()
        seen = self.recorder.observe(deep=deep, before=before)
        found = None if ask is None else self._asked(lambda: ask(seen))
        snapshot = replace(
            make(),
            serial=self.journal.next_serial,
            seconds=began - self._began,
            gauges=seen.gauges,
            watched=seen.watched,
            census=seen.census,
            change=seen.change,
            coverage=seen.coverage,
        )
        snapshot = replace(snapshot, metrics={**seen.metrics, **snapshot.metrics})
        traced = False
        if snapshot.moment == "generation":
            held = found.held if found else ()
            traced = self.tracing.running
            snapshot = replace(
                snapshot,
                expectations=self.promises.judge(held[: self._promised]),
                sites=self._traced_sites(held[self._promised :]),
            )
        if found is not None:
            snapshot = _with_holders(snapshot, found)
        snapshot, self._collection = replace(snapshot, collection=self._collection), None
        problems, self.problems = self.problems, {}
        cost = self.clock() - began
        tier = 3 if traced else 2 if found else int(deep)
        late, self._late = self._late, 0.0  # spent after the snapshot before this one was written
        self.journal.add(
            replace(
                snapshot,
                unavailable={**problems, **seen.unavailable},
                cost=Cost(cost + late, tier, snapshot.cost.slowdown),
            ),
            self.round.index,
        )

    def _asked(self, look: Callable[[], T]) -> T | None:
        try:
            return look()
        except Exception as error:
            self.problems["holders"] = f"{type(error).__name__}: {error}"
            return None


def _with_holders(snapshot: Snapshot, found: Inspection) -> Snapshot:
    """Add who holds what; large objects are named with their holder."""
    census = snapshot.census
    if census is not None and found.large:
        census = replace(census, large=found.large)
    return replace(snapshot, census=census, holders=found.holders)
