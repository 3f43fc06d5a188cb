"""What happens in a loop - generations, phases, moments - is looked at and written down."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from leakguard.capture.expectation import Promises
from leakguard.capture.heap import Held
from leakguard.capture.packed import PackedMeasurement
from leakguard.live import active
from leakguard.live.diagnosing import Alarm, Diagnoses, proofs_of
from leakguard.live.look import Look, Looker, LookInCopy
from leakguard.live.names import DEEPEST, PhaseNames
from leakguard.live.round import Caller, Opened, Recurrence, Round
from leakguard.live.safety import Safety
from leakguard.live.schedule import Depth
from leakguard.live.scribe import Scribe, SnapshotDraft
from leakguard.live.time_limit import TimeLimit
from leakguard.live.tracing import Tracing
from leakguard.live.visit import PhaseVisit, peak_of
from leakguard.model import Expectation, Run, Site
from leakguard.model.snapshot import LOOP_ENDED, Moment

REQUESTED = "Requested by a signal"
ENDED = "Run ended"
# Seconds to wait for a look in a copy where the run ends or the user asks; then it is ended.
_PATIENCE = 10.0


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
    _limit: TimeLimit | None = None
    _cut_sites: tuple[Site, ...] | None = None

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
        self._settle(_PATIENCE)
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
        self._settle(_PATIENCE)
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
        self.safety.run(self._end_limit)
        self.safety.run(self.tracing.stop)
        self.safety.run(self._settle, _PATIENCE)
        if not self._seen:
            self.safety.run(self._last_look)
        if self.prove:
            self.safety.run(self._prove)
        self._listen()
        self.safety.run(self.scribe.finish)

    def run_so_far(self) -> Run:
        """Return the run as it was written down, with the look that is under way."""
        self.safety.run(self._settle, _PATIENCE)
        return self.scribe.journal.run()

    def _settle(self, patience: float = 0.0) -> None:
        """Write down the look in a copy that is under way, if it has arrived."""
        if self._under_way is None:
            self.scribe.release()
            return
        look = self.looker.arrived(self._under_way)
        if look is None and patience:
            look = self._awaited(self._under_way, patience)
        if look is not None:
            self._under_way = None
            self._seen = self._seen and look.seen.census is not None
            self.scribe.complete(look)
            self._choose_what_to_trace(look)

    def _awaited(self, under_way: LookInCopy, patience: float) -> Look | None:
        """Wait for a look in a copy, and end it when that takes too long."""
        began = time.monotonic()
        look = self.looker.arrived(under_way, patience)
        if look is None:
            under_way.copy.end()
            look = self.looker.arrived(under_way)
        self.looker.schedule.waited(time.monotonic() - began)
        return look

    def loop_over(self) -> None:
        """Take the last look while the loop's function still has its locals.

        When the run ends they may be gone, with all that they held.
        """
        if not self._seen and self._rounds:
            self.safety.run(self._look_after_loop)

    def _look_after_loop(self) -> None:
        self._settle(_PATIENCE)
        first = not self._loops_seen  # it takes the place of the look at the end of the run
        if not self._seen and (first or self.looker.schedule.affords(Depth.HOLDERS)):
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
        """Return whether the program has lost most of what it gained since the last generation."""
        told: list[bool] = []

        def compare() -> None:
            metrics = self.looker.recorder.read_all().unpack().metrics
            told.append(self.looker.schedule.has_let_go(metrics))

        self.safety.run(compare)
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
        self._begin_trace()
        if (problem := self.tracing.problem()) is not None:
            self.safety.note("created_at", problem)
        deep = self._looks_into_phases(last)
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

    def _looks_into_phases(self, last: bool) -> bool:
        """Return whether each phase of the next round is counted at both of its ends.

        A walk allocates for each array, and a traced allocation costs many times as much.
        """
        schedule = self.looker.schedule
        if self.tracing.running or self._under_way or not self.looker.recorder.may_look:
            return False
        if schedule.spares_nothing:
            return True
        ends = 2 * len(self.round.counts()) + 1
        index = self._rounds
        planned = self.looker.grows and (last or schedule.planned(index))
        return planned and schedule.deep_look_due(index) and schedule.affords(Depth.CENSUS, ends)

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
        self._settle(_PATIENCE if round_.last else 0.0)
        self._end_limit()
        traced = self.tracing.running or self._cut_sites is not None
        slowdown = self.tracing.timed(self.scribe.meter.elapsed - opened.began, traced)
        reading = self.looker.recorder.read_all()
        peak = peak_of(self.looker, self.safety, opened.peak, reading)
        moved = traced or self.promises.pending
        samples, survivors = self._traced_objects(), self.promises.collect()
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
            sites=self._cut_sites or self._traced_sites(held[promised:]),
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
        if len(outer) >= DEEPEST:
            self.safety.note("phases", f"phases deeper than {DEEPEST} count as that one")
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

    # -- promises and traces ----------------------------------------------------------------------

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

    def _begin_trace(self) -> None:
        self.tracing.begin()
        self._cut_sites = None
        if self.tracing.may_be_cut:
            cut = partial(self.safety.run, self._cut_trace)
            self._limit = TimeLimit(self.tracing.longest, cut)

    def _cut_trace(self) -> None:
        """Stop a trace that has lasted too long; what it saw until now is what it tells."""
        if self.tracing.running:
            samples = self._traced_objects()
            self._cut_sites = self._traced_sites(self.looker.holders_of(samples))

    def _end_limit(self) -> None:
        if self._limit is not None:
            limit, self._limit = self._limit, None
            limit.cancel()

    def _traced_objects(self) -> list[object]:
        """End a traced generation; return some objects that it left behind."""
        try:
            return self.tracing.survivors()
        except Exception as error:
            self.tracing.stop()
            self.safety.note("created_at", error)
            return []

    def _traced_sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        """Return where they were made, with what holds them."""
        try:
            return self.tracing.sites([who.held_by if who else None for who in held])
        except Exception as error:
            self.safety.note("created_at", error)
            return ()

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
