"""Follows a run: its start and end, its moments and phases, and its loop."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from leakguard.capture.probe import Unavailable
from leakguard.capture.promises import Promises
from leakguard.live import active
from leakguard.live.black_box import BlackBox
from leakguard.live.diagnosing import proofs_of
from leakguard.live.look import Look, Looker
from leakguard.live.loop import WatchedLoop
from leakguard.live.names import MOST_OPEN_PHASES, PhaseNames
from leakguard.live.safety import Safety
from leakguard.live.scribe import Scribe, SnapshotDraft, TakenLooks
from leakguard.live.sinks import complain
from leakguard.live.traced_generation import TracedGeneration
from leakguard.live.visit import PhaseVisit
from leakguard.model import Expectation, Run, Snapshot
from leakguard.model.snapshot import Moment

#: The label of a look that another process asked for.
ASKED = "Requested by leakguard snapshot"
_REQUESTED = "Requested by a signal"
_ENDED = "Run ended"


@dataclass(slots=True)
class GuardedRun:
    """Follows one run from its start to its end; ``safety`` runs every step."""

    looker: Looker
    scribe: Scribe
    safety: Safety
    promises: Promises
    traced: TracedGeneration
    looks: TakenLooks
    loop: WatchedLoop
    prove: bool = False
    black_box: BlackBox | None = None
    _names: PhaseNames = field(default_factory=PhaseNames)
    _measured: set[str] = field(default_factory=set)

    # -- moments --------------------------------------------------------------------------------

    def start(self) -> None:
        """Record the start of the run; a heap that is expensive to count is counted later."""
        self.safety.run(self._start)

    def _start(self) -> None:
        if self.black_box is not None:
            self.black_box.prepare()
        self.loop.births.start()
        look = self.looker.start(self.looker.recorder.read_all())
        self.scribe.write_snapshot(SnapshotDraft("Run started", "mark"), look)
        if self.black_box is not None:
            self.black_box.start()

    def mark(self, label: str, *, baseline: bool = False) -> None:
        """Record a moment that the user named; growth is measured from a baseline on."""
        self.safety.run(self._record_moment, label, baseline)
        if not baseline and not active.open_phases():
            self.loop.moment_passes(label)

    def _record_moment(self, label: str, baseline: bool) -> None:
        reading, looker = self.looker.recorder.read_all(), self.looker
        look = looker.baseline(reading) if baseline else looker.census(reading, why="asked")
        moment: Moment = "baseline" if baseline else "mark"
        self._write_moment(label, moment, look)

    def inspect(self, label: str) -> None:
        """Record a moment with a look at the holders."""
        self.safety.run(self._inspect, label)

    def request(self) -> None:
        """Record a look that a signal requested; the signal may come while the guard is at work."""
        self.safety.request(lambda: self.inspect(_REQUESTED))

    def look_now(self) -> Snapshot | None:
        """Return a look that another process asked for; None if the run is over.

        Raises:
            Unavailable: the look failed.
        """
        if self.safety.run(self._inspect, ASKED):
            taken = reversed(self.run_so_far().snapshots)
            return next((snapshot for snapshot in taken if snapshot.label == ASKED), None)
        if self.safety.watching:
            raise Unavailable("the look failed; the next snapshot of its run says why")
        return None

    def _inspect(self, label: str) -> None:
        look = self.looker.holders(self.looker.recorder.read_all(), "asked")
        self._write_moment(label, "mark", look)

    def _write_moment(self, label: str, moment: Moment, look: Look) -> None:
        round_ = self.loop.round
        self.looks.write_look(
            SnapshotDraft(label, moment, generation=round_.number), look, round_.index
        )

    def end(self, *, failed: bool = False) -> None:
        """Take the last look, unless the last generation had one, and close the run.

        ``failed`` means that an exception ended the run; the open generation is then dropped. After
        an interrupt some steps are skipped, but the file is always closed.
        """
        try:
            self._end(failed)
        finally:
            self.close()

    def note_failure(self, error: BaseException | None) -> None:
        """Record first of all if the exception that ends the run says that memory ran out."""
        if self.black_box is not None and self.safety.watching:
            self.black_box.fail(error)

    def close(self) -> None:
        """Close the run as it is, without a look or a report."""
        if self.black_box is not None:
            self.black_box.stop()
        self.safety.run(self.loop.births.stop)
        self.safety.run(self.scribe.close)
        self.safety.over = True

    def let_go(self) -> None:
        """End a trace in progress."""
        self.safety.run(self.traced.end_limit)
        self.safety.run(self.traced.tracing.stop)

    def _end(self, failed: bool) -> None:
        if not failed:
            self.loop.end_called()
        self.let_go()
        if not self.looks.seen:
            self.safety.run(self.loop.last_look, _ENDED)
        if self.prove:
            self.safety.run(self._prove)
        self.loop.listen()
        if not self.safety.run(self.scribe.finish) and self.safety.at_home:
            self._say_that_it_failed()

    def _say_that_it_failed(self) -> None:
        """Report why there is no report: a broken guard must not look like a healthy program."""
        problem = self.safety.taken_notes().get("guard")
        if problem is not None:
            complain(f"there is no report, and nothing is known of this run: {problem}")

    def run_so_far(self) -> Run:
        """Return the recorded run so far."""
        return self.scribe.journal.run()

    def _prove(self) -> None:
        """Empty the holders of the leading findings in copies, and record what was freed."""
        proofs = proofs_of(self.scribe.journal.run())
        if proofs:
            look = self.looker.glance(self.looker.recorder.read_all())
            draft = SnapshotDraft("Proof by cutting in a copy", "mark", proofs=proofs)
            self.looks.write_look(draft, look, self.loop.round.index)

    # -- phases -----------------------------------------------------------------------------------

    def enter_phase(self, name: str) -> Callable[[BaseException | None], None] | None:
        """Begin a phase; return what ends it, or None if the same phase is already open here."""
        outer = active.open_phases()
        if name in outer or not self.safety.watching:
            return None
        if len(outer) >= MOST_OPEN_PHASES:
            self.safety.note("phases", f"phases deeper than {MOST_OPEN_PHASES} count as that one")
            return None
        if not outer:
            self.loop.phase_begins(name)
        path = self._names.recorded("/".join((*outer, name)))
        loop = self.loop
        if loop.round.passed_over:
            if path in self._measured:
                active.open_phase(name)
                return functools.partial(self._leave, name, loop.births.enter_phase(path))
            loop.round.passed_over = False  # the first run of a phase is always measured
        self._measured.add(path)
        visit = PhaseVisit(
            name,
            path,
            loop.round,
            self.looker,
            self.scribe,
            self.safety,
            loop.births,
            loop.numbers,
        )
        if not visit.begun():
            return None
        active.open_phase(name)
        self.looks.seen = False
        return visit.end

    def _leave(self, name: str, outer: str, error: BaseException | None) -> None:
        """Leave a phase that was not measured."""
        active.close_phase(name, with_inner=active.is_interrupt(error))
        self.loop.births.leave_phase(outer)

    # -- promises ---------------------------------------------------------------------------------

    def promise(self, target: object, why: str) -> None:
        """Hold a weak reference to ``target`` until its generation ends."""
        self.safety.run(self._promise, target, why)

    def _promise(self, target: object, why: str) -> None:
        problem = self.promises.add(target, why)
        if problem is not None:
            self.safety.note("expect_freed", problem)

    def judged_promises(self) -> tuple[Expectation, ...]:
        """Judge the open promises, and find the holders of the objects that are still alive."""
        judged: list[Expectation] = []

        def judge() -> None:
            judged.extend(self.promises.judge(self.looker.holders_of(self.promises.collect())))

        self.safety.run(judge)
        return tuple(judged)
