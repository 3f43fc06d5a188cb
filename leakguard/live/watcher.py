"""What happens in a loop - generations, phases, moments - is looked at and written down."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

from leakguard.capture.expectation import Promises
from leakguard.capture.packed import PackedMeasurement
from leakguard.live import active
from leakguard.live.diagnosing import Alarm, Diagnoses, proofs_of
from leakguard.live.look import Look, Looker, LookInCopy
from leakguard.live.names import MOST_OPEN_PHASES, PhaseNames
from leakguard.live.round import Caller, Opened, Recurrence, Round
from leakguard.live.safety import Safety
from leakguard.live.scribe import Scribe, SnapshotDraft
from leakguard.live.traced_generation import TracedGeneration
from leakguard.live.tracing import Tracing
from leakguard.live.visit import PhaseVisit, peak_of
from leakguard.model import Expectation, Run
from leakguard.model.snapshot import LOOP_ENDED, Moment

REQUESTED = "Requested by a signal"
ENDED = "Run ended"
# Seconds to wait for a look in a copy where the run ends or the user asks; then it is ended.
_COPY_PATIENCE = 10.0


@dataclass(slots=True)
class Watcher:
    """Follows one run from its start to its end; every step is run by ``safety``."""

    looker: Looker
    scribe: Scribe
    safety: Safety
    promises: Promises
    tracing: Tracing
    diagnoses: Diagnoses
    alarm: Alarm | None = None
    prove: bool = False
    round: Round = field(default_factory=Round)
    _names: PhaseNames = field(default_factory=PhaseNames)
    _recurrence: Recurrence = field(default_factory=Recurrence)
    _opened: Opened | None = None
    _rounds: int = 0
    _called: bool = False
    _is_left: Callable[[], bool] | None = None
    _caller: Caller | None = None
    _seen: bool = True
    _loops_seen: int = 0
    _under_way: LookInCopy | None = None
    _traced: TracedGeneration = field(init=False)

    def __post_init__(self) -> None:
        self._traced = TracedGeneration(self.tracing, self.looker, self.safety)

    # -- moments --------------------------------------------------------------------------------

    def start(self) -> None:
        """Record the start of the run; a heap that is dear to count is counted later."""
        self.safety.run(self._start)
        self.looker.recorder.keep_first()

    def _start(self) -> None:
        look = self.looker.start(self.looker.recorder.read_all())
        self.scribe.write(SnapshotDraft("Run started", "mark"), look)

    def mark(self, label: str, *, baseline: bool = False) -> None:
        """Record a moment that the user named; growth is counted from a baseline on."""
        self.looker.recorder.check_kept()
        self.safety.run(self._mark, label, baseline)

    def _mark(self, label: str, baseline: bool) -> None:
        self._settle(_COPY_PATIENCE)
        reading, looker = self.looker.recorder.read_all(), self.looker
        look = looker.baseline(reading) if baseline else looker.census(reading, why="asked")
        moment: Moment = "baseline" if baseline else "mark"
        self._write(SnapshotDraft(label, moment, generation=self.round.number), look)

    def inspect(self, label: str) -> None:
        """Record a moment with a look at who holds what."""
        self.safety.run(self._inspect, label)

    def request(self) -> None:
        """Record what a signal asked for, which may come in the middle of the guard's own work."""
        self.safety.request(lambda: self.inspect(REQUESTED))

    def _inspect(self, label: str) -> None:
        self._settle(_COPY_PATIENCE)
        look = self.looker.holders(self.looker.recorder.read_all(), "asked")
        self._write(SnapshotDraft(label, "mark", generation=self.round.number), look)

    def end(self, *, failed: bool = False) -> None:
        """Take the last look, unless the last generation had one, and close the run.

        ``failed`` says that an exception ended it, which the open generation did not survive. An
        interrupt leaves out what it found undone, and the file is closed all the same.
        """
        try:
            self._end(failed)
        finally:
            self.close()

    def close(self) -> None:
        """Close the run as it is: without a look, and without a word."""
        self.safety.run(self.scribe.close)
        self.safety.over = True

    def _end(self, failed: bool) -> None:
        if not failed:
            self.end_called()
        self.safety.run(self._traced.end_limit)
        self.safety.run(self.tracing.stop)
        self.safety.run(self._settle, _COPY_PATIENCE)
        if not self._seen:
            self.safety.run(self._last_look)
        if self.prove:
            self.safety.run(self._prove)
        self._listen()
        self.safety.run(self.scribe.finish)

    def run_so_far(self) -> Run:
        """Return the run as it was written down, with the look that is under way."""
        self.safety.run(self._settle, _COPY_PATIENCE)
        return self.scribe.journal.run()

    def _settle(self, patience: float = 0.0) -> None:
        """Write down the look in a copy that is under way, if it has arrived."""
        if self._under_way is None:
            self.scribe.release()
            return
        look = self.looker.arrived(self._under_way)
        if look is None and patience:
            look = self.looker.awaited(self._under_way, patience)
        if look is not None:
            self._under_way = None
            self._seen = self._seen and look.seen.census is not None
            self.scribe.complete(look)
            self._choose_what_to_trace(look)

    def loop_over(self) -> None:
        """Take the last look while the loop's function still has its locals.

        When the run ends they may be gone, with all that they held.
        """
        if not self._seen and self._rounds:
            self.safety.run(self._look_after_loop)

    def _look_after_loop(self) -> None:
        self._settle(_COPY_PATIENCE)
        first = not self._loops_seen  # it takes the place of the look at the end of the run
        if not self._seen and (first or self.looker.affords_holders):
            self._loops_seen += 1
            self._last_look(LOOP_ENDED)

    def _last_look(self, what: str = ENDED) -> None:
        """Look at the end of a run that nobody announced, as at the end of a generation."""
        reading = self.looker.recorder.read_all()
        look = self.looker.end(reading)
        within = f" within generation {self.round.number}" if self._opened else ""
        self._write(SnapshotDraft(what + within, "end", generation=self.round.number), look)

    def _prove(self) -> None:
        """Cut what the leading findings are held by, in copies, and write down what came free."""
        proofs = proofs_of(self.scribe.journal.run())
        if proofs:
            look = self.looker.glance(self.looker.recorder.read_all())
            self._write(SnapshotDraft("Proof by cutting in a copy", "mark", proofs=proofs), look)

    # -- generations ------------------------------------------------------------------------------

    def announce(self, total: int | None, *, long: bool = False) -> None:
        """Take how many generations a loop that begins will have; None where nobody knows.

        ``long`` says that they will most likely be many.
        """
        if self._opened is None:
            self.looker.schedule.announce(total, long=long)
            self.tracing.announce(total)

    def begin_round(
        self, number: int, *, last: bool = False, is_left: Callable[[], bool] | None = None
    ) -> bool:
        """Begin a generation; ``last`` where it is known to be the last one.

        ``is_left`` says that the loop around it has ended: an interrupt may have come before that
        ended its generation, too.

        Returns:
            Whether it has begun: generations inside a generation are a part of it.
        """
        left = self._is_left is not None and self._is_left()
        if (self._recurrence.stop() or left) and self._opened is not None:
            self.end_round()
        if self._opened is not None:
            self.safety.note("generations", "a loop inside a generation counts as a part of it")
            return False
        self._called, self._is_left = False, is_left
        try:
            return self.safety.run(self._begin_round, number, last)
        except BaseException:  # an interrupt: nobody will end it
            self._close_unrecorded()
            raise

    def call_round(self, number: int | None) -> bool:
        """Begin a generation that lasts until the next call, unless somebody ends it before."""
        if self._called and self._opened is not None:
            self.end_round()
        self._caller = Caller.here()
        begun = self.begin_round(self._rounds + 1 if number is None else number)
        self._called = begun or self._called
        return begun

    def end_called(self) -> None:
        """End the generation that a call began and that nothing but the end of the run ends.

        Where the function that called has returned, and what it held is gone, this is no end of a
        generation.
        """
        if not self._called or self._opened is None:
            return
        runs_on = self._caller is not None and self._caller.is_running()
        if runs_on or not self._has_let_go():
            self.round.last = True
            self.end_round()

    def _has_let_go(self) -> bool:
        told: list[bool] = []
        self.safety.run(lambda: told.append(self.looker.program_has_let_go()))
        return told == [True]

    def _begin_unnamed(self) -> None:
        """Begin a generation with the phase that each one began with so far."""
        if self._opened is None:
            self.safety.note(
                "generations",
                f"none is named: one begins with each {self._recurrence.leader!r}; name them by "
                "guard.generations(...) around the loop or guard.generation() where one begins",
            )
        else:
            self.end_round()
            self.ring()
        self._caller = Caller.here()
        self._called = self.safety.run(self._begin_round, self._rounds + 1, False)

    def _begin_round(self, number: int, last: bool) -> None:
        if not self._rounds:
            self._settle_in()
        self._settle()
        self._traced.begin()
        free = not self.tracing.running and self._under_way is None
        phases = len(self.round.counts())
        deep = free and self.looker.looks_into_phases(self._rounds, phases, last=last)
        recorder = self.looker.recorder
        reading = recorder.read()
        self.round = Round(self._rounds, number, last, deep, self.round.counts())
        self._opened = Opened(
            reading, recorder.peaks.start(reading.high_water), self.scribe.meter.elapsed
        )
        self._rounds += 1
        self._seen = False

    def _settle_in(self) -> None:
        """Make what the guard keeps from look to look before the first round is measured.

        Its memory of paths and the modules of the diagnosis would look like growth of the program.
        """
        if self.tracing.trace != "off":
            importlib.import_module("leakguard.analysis")
        self.looker.remember()

    def end_round(self) -> None:
        """End the generation: judge its promises and record it."""
        opened = self._opened
        try:
            self.safety.run(self._end_round)
        finally:
            if opened is not None and self._opened is opened:
                self._close_unrecorded()
        self._listen()

    def _close_unrecorded(self) -> None:
        """End a generation that was interrupted or failed: the next one is not part of it."""
        self._opened, self.round = None, self.round.after()

    def _listen(self) -> None:
        if self.alarm is not None:
            self.safety.run(self.alarm.listen, self.scribe.journal)

    def ring(self) -> None:
        """Call the user's own function, between two generations, if a leak is new."""
        if self.alarm is not None:
            self.alarm.ring()

    def _end_round(self) -> None:
        opened = self._opened
        if opened is None:
            return
        index, round_ = self._rounds - 1, self.round
        self._settle(_COPY_PATIENCE if round_.last else 0.0)
        self._traced.end_limit()
        traced = self._traced.was_traced
        slowdown = self.tracing.timed(self.scribe.meter.elapsed - opened.began, traced)
        reading = self.looker.recorder.read_all()
        peak = peak_of(self.looker, self.safety, opened.peak, reading)
        moved = traced or self.promises.pending
        samples, survivors = self._traced.survivors(), self.promises.collect()
        if moved:  # a trace has let go of memory, or a collection has freed some
            reading = self.looker.recorder.read_all()
        why = self._reason(index, reading)
        if not self.looker.asks_for_promised(why):
            survivors.clear()  # they count as alive; who holds them would cost too much to ask
        promised = len(survivors)
        survivors += samples
        samples.clear()
        look = self.looker.generation(reading, index, why, survivors)
        held = look.found.held if look.found else ()
        draft = SnapshotDraft(
            f"Gen {round_.number}: End of generation",
            "generation",
            generation=round_.number,
            entry=opened.reading.unpack().metrics,
            peak=peak,
            phases=round_.totals(),
            expectations=self.promises.judge(held[:promised]),
            sites=self._traced.sites(held[promised:]),
            traced=traced,
            slowdown=slowdown,
        )
        self._opened, self.round = None, round_.after()
        self._write(draft, look, index)
        self._under_way = look.under_way or self._under_way
        self._choose_what_to_trace(look)

    def _reason(self, index: int, reading: PackedMeasurement) -> str | None:
        schedule = self.looker.schedule
        schedule.note(index, reading.unpack().metrics)
        if self._under_way is not None:  # one look at a time
            return None
        return schedule.reason(index, last=self.round.last)

    # -- phases -----------------------------------------------------------------------------------

    def enter_phase(self, name: str) -> Callable[[BaseException | None], None] | None:
        """Begin a phase and return what ends it; None when it is open around here already."""
        outer = active.open_phases()
        if name in outer or not self.safety.watching:
            return None
        if len(outer) >= MOST_OPEN_PHASES:
            self.safety.note("phases", f"phases deeper than {MOST_OPEN_PHASES} count as that one")
            return None
        if not outer and self._recurrence.begins(name):
            self._begin_unnamed()
        path = self._names.recorded("/".join((*outer, name)))
        visit = PhaseVisit(name, path, self.round, self.looker, self.scribe, self.safety)
        if not visit.begun():
            return None
        active.open_phase(name)
        self._seen = False
        return visit.end

    # -- promises and suspects ---------------------------------------------------------------------

    def promise(self, target: object, why: str) -> None:
        """Hold ``target`` weakly until its generation ends."""
        self.safety.run(self._promise, target, why)

    def _promise(self, target: object, why: str) -> None:
        problem = self.promises.add(target, why)
        if problem is not None:
            self.safety.note("expect_freed", problem)

    def judged_promises(self) -> tuple[Expectation, ...]:
        """Judge what was promised so far, with who holds what is still alive."""
        judged: list[Expectation] = []

        def judge() -> None:
            judged.extend(self.promises.judge(self.looker.holders_of(self.promises.collect())))

        self.safety.run(judge)
        return tuple(judged)

    def _choose_what_to_trace(self, look: Look) -> None:
        """Where something grew: see in the run so far what a traced generation could tell."""
        # That objects grow is news of a look; that memory does is read without one.
        grew = self.looker.swells or (look.depth and self.looker.grows)
        worth_it = grew and self.tracing.worth_asking(self._rounds)
        if worth_it and self.diagnoses.affordable:
            self.tracing.choose(self._rounds, self.diagnoses.findings)

    def _write(self, draft: SnapshotDraft, look: Look, index: int | None = None) -> None:
        self._seen = look.seen.census is not None or look.under_way is not None
        self.scribe.write(draft, look, self.round.index if index is None else index)
