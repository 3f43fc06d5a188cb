"""The traced generation: it starts the trace, cuts it if it takes too long, and reads its lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from leakguard.alarm import pass_on
from leakguard.capture.heap import Held
from leakguard.live.diagnosing import Diagnoses
from leakguard.live.look import Look, Looker
from leakguard.live.main_thread import call_in_main_thread, is_main_thread
from leakguard.live.safety import Safety
from leakguard.live.time_limit import TimeLimit
from leakguard.live.tracing import Tracing
from leakguard.model import Site


@dataclass(slots=True)
class TracedGeneration:
    """Traces the running generation if ``tracing`` has something to trace; else does nothing.

    A trace that was cut reports what it has seen at the end of its generation. The holders are
    searched for in the loop's own thread, where the program stands still. If the loop is not in the
    main thread, the trace is given up.
    """

    tracing: Tracing
    looker: Looker
    safety: Safety
    diagnoses: Diagnoses
    _rounds: int = 0
    _limit: TimeLimit | None = None
    _cut: tuple[Site, ...] | None = None

    def begin(self) -> None:
        """Start a trace if something is to be traced; note the reason if that is impossible."""
        self._rounds += 1
        self.tracing.begin()
        self._cut = None
        if self.tracing.may_be_cut:
            end = partial(self._end_soon if is_main_thread() else self._give_up, self._rounds)
            self._limit = TimeLimit(self.tracing.longest, end)
        if (problem := self.tracing.problem()) is not None:
            self.safety.note("created_at", problem)

    @property
    def was_traced(self) -> bool:
        """True for a generation that is traced, or whose trace was cut."""
        return self.tracing.running or self.was_cut

    @property
    def was_cut(self) -> bool:
        """True for a generation whose trace ended before the generation."""
        return self._cut is not None

    def survivors(self) -> list[int]:
        """End the trace; return the addresses of some objects that the generation left behind."""
        try:
            return self.tracing.survivors()
        except Exception as error:
            pass_on(error)
            self.tracing.stop()
            self.safety.note("created_at", error)
            return []

    def sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        """Return the sites of the survivors, with their holders."""
        return self._cut or self._sites(held)

    def _sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        try:
            return self.tracing.sites([who.held_by if who else None for who in held])
        except Exception as error:
            pass_on(error)
            self.safety.note("created_at", error)
            return ()

    def _end_soon(self, rounds: int) -> None:
        """Have this generation's trace cut in the main thread, after the guard's own work there."""
        cut = partial(self.safety.run, self._stop_early, rounds)
        if not call_in_main_thread(partial(self.safety.request, cut)):
            self._give_up(rounds)

    def _stop_early(self, rounds: int) -> None:
        if self._is_limited(rounds):
            self.tracing.note_cut()
            survivors = self.survivors()
            self._cut = self._sites(self.looker.holders_of(survivors))

    def _give_up(self, rounds: int) -> None:
        self.safety.run(self._stop_untold, rounds)

    def _stop_untold(self, rounds: int) -> None:
        if self._is_limited(rounds):
            self.tracing.note_cut()
            self.tracing.stop()
            self._cut = ()

    def _is_limited(self, rounds: int) -> bool:
        """Return whether this generation and its trace are both still running."""
        return self.tracing.running and self._limit is not None and self._rounds == rounds

    def end_limit(self) -> None:
        """Cancel the time limit, because the generation ends."""
        if self._limit is not None:
            limit, self._limit = self._limit, None
            limit.cancel()

    def choose(self, look: Look) -> None:
        """After growth, check whether a traced generation could add something to the run so far."""
        # Growth of objects is known at looks only; memory is read at every generation's end.
        inquiry = self.looker.inquiry
        grew = inquiry.rises or (look.depth and inquiry.grows)
        counted = self.was_cut or bool(look.depth)
        worth_it = (grew or self.was_cut) and self.tracing.worth_asking(
            self._rounds, counted=counted
        )
        # A trace that was cut is worth one more diagnosis.
        if worth_it and (self.was_cut or self.diagnoses.affordable):
            self.tracing.choose(self._rounds, self.diagnoses.findings)
