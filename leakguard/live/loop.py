"""The watched loop: where its generations begin and end, and what is recorded at each end."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leakguard.capture.promises import Promises
from leakguard.live.birth_watch import BirthWatch
from leakguard.live.diagnosing import Alarm
from leakguard.live.look import Looker
from leakguard.live.numbers import Numbers
from leakguard.live.policy import Depth
from leakguard.live.round import Caller, Opened, Recurrence, Round
from leakguard.live.safety import Safety
from leakguard.live.scribe import SnapshotDraft, TakenLooks
from leakguard.live.traced_generation import TracedGeneration
from leakguard.live.visit import peak_of
from leakguard.model.snapshot import LOOP_ENDED

# After a later loop, look again only if the program's time has grown by this factor since the last
# such look. Chosen: at most six such looks while the run becomes ten times as long.
_LONGER = 1.5


@dataclass(slots=True)
class WatchedLoop:
    """Follows the generations of a run, however they are marked.

    ``round`` is the current one, and ``latest`` the number of the one that began last.
    """

    looks: TakenLooks
    traced: TracedGeneration
    promises: Promises
    safety: Safety
    numbers: Numbers
    alarm: Alarm | None = None
    births: BirthWatch = field(default_factory=BirthWatch)
    offspring: Callable[[], Mapping[str, int]] = dict
    round: Round = field(default_factory=Round)
    outer: dict[str, int] = field(default_factory=dict)
    latest: int | None = None
    _recurrence: Recurrence = field(default_factory=Recurrence)
    _opened: Opened | None = None
    _rounds: int = 0
    _begun: int = 0
    _passed: int = 0
    _ended: int = 0
    _called: bool = False
    _is_left: Callable[[], bool] | None = None
    _caller: Caller | None = None
    _seen_at: float | None = None

    @property
    def looker(self) -> Looker:
        """The part that takes the looks."""
        return self.looks.looker

    def announce(self, total: int | None) -> None:
        """Note the number of generations of a loop that begins; None if it is unknown."""
        if self._opened is None:
            self.looker.loop.total = total
            self.traced.tracing.announce(total)

    def begin_round(
        self, number: int, *, last: bool = False, is_left: Callable[[], bool] | None = None
    ) -> bool:
        """Begin a generation; ``last`` is true if it is known to be the last one.

        ``is_left`` returns whether the loop around the generation has ended: an interrupt may have
        ended the loop without ending the generation.

        Returns:
            Whether a generation has begun; inside another generation, none begins.
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
        except BaseException:  # after an interrupt, no other code will end it
            self._close_unrecorded()
            raise

    def call_round(self, number: int | None) -> bool:
        """Begin a generation that lasts until the next call, unless it is ended before."""
        if self._called and self._opened is not None:
            self.end_round()
        self._caller = Caller.here()
        begun = self.begin_round(self._begun + 1 if number is None else number)
        self._called = begun or self._called
        return begun

    def outer_round(self, level: str) -> None:
        """Record that a round of an outer level begins, such as an epoch of many generations."""
        self.outer[level] = self.outer.get(level, 0) + 1

    def end_called(self) -> None:
        """End the last generation that a call began, at the end of the run.

        If the calling function has returned, its objects are gone, and the generation is not
        recorded as a full one. If moments end generations, what follows the last moment is not
        recorded, either.
        """
        if not self._called or self._opened is None:
            return
        if self._recurrence.by_moments:
            self._close_unrecorded()
            return
        runs_on = self._caller is not None and self._caller.is_running()
        if runs_on or not self._has_let_go():
            self.round.last = True
            self.end_round()

    def _has_let_go(self) -> bool:
        told: list[bool] = []
        self.safety.run(lambda: told.append(self.looker.program_has_let_go()))
        return told == [True]

    def phase_begins(self, phase: str) -> None:
        """Note that an outermost phase begins; it may begin a generation if nothing else does."""
        if self._recurrence.begins(phase):
            self._begin_unnamed()

    def moment_passes(self, label: str) -> None:
        """Note that a moment was recorded; without phases, it may end a generation."""
        if self._recurrence.passes(label):
            self._begin_unnamed()

    def _begin_unnamed(self) -> None:
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
        self._called = self.safety.run(self._begin_round, self._begun + 1, False)

    def _begin_round(self, number: int, last: bool) -> None:
        if not self._rounds:
            self._settle_in()
        self._begun, self.latest = self._begun + 1, number
        self.looks.seen = False
        if not (last or self.looker.must_measure(self._rounds) or self.numbers.are_due()):
            self._begin_unmeasured(number)
            return
        self.looker.settle()
        self.traced.begin()
        free = not self.traced.tracing.running
        phases = len(self.round.counts())
        deep = free and self.looker.looks_into_phases(self._rounds, phases, last=last)
        recorder = self.looker.recorder
        with self.numbers.charged():
            reading = recorder.read()
            peak = recorder.peaks.start(reading.high_water)
            if self._passed:  # the peak is of those that were passed over, too
                peak.bytes = int(reading.high_water or 0)
        self.round = Round(self._rounds, number, last, deep, self.round.counts())
        self._opened = Opened(self.looks.scribe.meter.elapsed, reading, peak)
        self.births.begin_round(self._ended)
        self._rounds += 1

    def _begin_unmeasured(self, number: int) -> None:
        """Begin a generation that is not measured."""
        if not self._passed:
            self.looker.settle()
            self.looker.recorder.peaks.begin_anew()
        self.births.begin_unmeasured(self._ended)
        self.round = self.round.unmeasured(self._rounds, number)
        self._opened = Opened(self.looks.scribe.meter.elapsed)

    def _pass_over(self) -> None:
        """End a generation that was not measured."""
        self._passed += self.round.taken or 1
        self._ended += self.round.taken or 1
        self.looker.loop.passed += 1
        self._opened, self.round = None, self.round.after()

    def _settle_in(self) -> None:
        """Allocate the guard's own memory before the first generation is measured.

        Its table of paths and the modules of the diagnosis would look like growth of the program.
        """
        journal = self.looks.scribe.journal
        if self.alarm is not None or self.traced.tracing.may_trace or journal.writes_log:
            importlib.import_module("leakguard.analysis")
            importlib.import_module("leakguard.analysis.knowledge.known_leaks").known_leaks()
        if journal.writes_log:
            importlib.import_module("leakguard.render.log_block")
        importlib.import_module("leakguard.capture.heap.answer").prepare()
        self.looker.remember()

    def end_round(self) -> None:
        """End the generation: judge its promises and record it."""
        opened = self._opened
        try:
            self.safety.run(self._end_round)
        finally:
            if opened is not None and self._opened is opened:
                self._close_unrecorded()
        self.listen()

    def _close_unrecorded(self) -> None:
        """Drop a generation that was interrupted or failed: the next one is not part of it."""
        self._opened, self.round = None, self.round.after()

    def listen(self) -> None:
        """Check whether the run so far has a new leak; ``ring`` reports it."""
        if self.alarm is not None:
            self.safety.run(self.alarm.listen, self.looks.scribe.journal)

    def ring(self) -> None:
        """Call the user's own function, between two generations, if there is a new leak."""
        if self.alarm is not None:
            self.alarm.ring()

    def _end_round(self) -> None:
        opened = self._opened
        if opened is None:
            return
        if opened.reading is None:
            if self.round.passed_over and not (self.round.last or self.promises.pending):
                self._pass_over()
                return
            self._rounds += 1
        index, round_ = self._rounds - 1, self.round
        self._ended += round_.taken or 1
        spent = self.looks.scribe.meter.spent
        self.traced.end_limit()
        traced = self.traced.was_traced
        slowdown = self.traced.tracing.timed(self.looks.scribe.meter.elapsed - opened.began, traced)
        reading = self.looker.recorder.read_all()
        peak = peak_of(self.looker, self.safety, opened.peak, reading)
        moved = traced or self.promises.pending
        samples, survivors = self.traced.survivors(), self.promises.collect()
        if moved:  # a trace has freed memory, or a collection has
            reading = self.looker.recorder.read_all()
        why = self.looker.reason(reading, index, last=round_.last)
        if not self.looker.asks_for_promised(why):
            survivors = []  # they count as alive; finding their holders would cost too much
        promised = len(survivors)
        births = self.births.at_round_end(self._ended, last=round_.last)
        look = self.looker.generation(reading, index, why, [*survivors, *samples])
        held = look.found.held if look.found else ()
        draft = SnapshotDraft(
            f"Gen {round_.number}: End of generation",
            "generation",
            generation=round_.number,
            entry={} if opened.reading is None else opened.reading.unpack().metrics,
            peak=peak,
            phases=round_.totals(),
            expectations=self.promises.judge(held[:promised]),
            sites=self.traced.sites(held[promised:]),
            traced=traced,
            slowdown=slowdown,
            cut=self.traced.was_cut,
            taken=round_.taken,
            passed=self._passed or None,
            births=births,
            outer=dict(self.outer),
            children=self.offspring(),
        )
        self._opened, self.round, self._passed = None, round_.after(), 0
        self.looks.write_look(draft, look, index)
        if not look.depth and draft.births is None:
            self.numbers.add(self.looks.scribe.meter.spent - spent)
        self.traced.choose(look)
        self.numbers.choose()

    def over(self, *, outermost: bool = False) -> None:
        """Take the last look while the loop's function still has its local variables.

        At the end of the run, the variables and what they held may be gone. ``outermost`` says that
        no loop around this one is known to go on.
        """
        if not self.looks.seen and self._rounds:
            self.safety.run(self._look_after_loop, outermost)

    def _look_after_loop(self, outermost: bool) -> None:
        if not self.looks.seen and (self._may_be_last(outermost) or self.looker.affords_holders):
            self.last_look(LOOP_ENDED)
            self._seen_at = self.looker.purse.program_seconds

    def _may_be_last(self, outermost: bool) -> bool:
        """Return whether this may be the last loop, so that no other look follows.

        The first such look replaces the look at the end of the run. A later one is taken only after
        the program has run half as long again, since a program may have thousands of short loops;
        and, if it is inside of another loop, within what a person would wait for.
        """
        purse, before = self.looker.purse, self._seen_at
        if before is None:
            return True
        is_later = purse.program_seconds > _LONGER * before
        return is_later and (outermost or purse.owes(Depth.HOLDERS))

    def last_look(self, what: str) -> None:
        """Look at the end of a run that ends without notice, as at a generation's end."""
        reading = self.looker.recorder.read_all()
        births = self.births.at_end()
        look = self.looker.end(reading, self._rounds)
        within = f" within generation {self.round.number}" if self._opened else ""
        draft = SnapshotDraft(
            what + within,
            "end",
            generation=self.round.number,
            passed=self._passed or None,
            births=births,
            outer=dict(self.outer),
        )
        self.looks.write_look(draft, look, self.round.index)
