"""The generation that is traced: begun, cut when it lasts too long, and asked what it saw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from leakguard.alarm import pass_on
from leakguard.capture.heap import Held
from leakguard.live.diagnosing import Diagnoses
from leakguard.live.look import Look, Looker
from leakguard.live.safety import Safety
from leakguard.live.time_limit import TimeLimit
from leakguard.live.tracing import Tracing
from leakguard.model import Site


@dataclass(slots=True)
class TracedGeneration:
    """The running generation, if ``tracing`` has something to find out in it; else it does nothing.

    A trace that is cut tells what it saw until then, at the end of its generation.
    """

    tracing: Tracing
    looker: Looker
    safety: Safety
    diagnoses: Diagnoses
    _rounds: int = 0
    _limit: TimeLimit | None = None
    _cut: tuple[Site, ...] | None = None

    def begin(self) -> None:
        """Start to trace, where something is to be traced; note why it cannot be."""
        self._rounds += 1
        self.tracing.begin()
        self._cut = None
        if self.tracing.may_be_cut:
            cut = partial(self.safety.run, self._stop_early)
            self._limit = TimeLimit(self.tracing.longest, cut)
        if (problem := self.tracing.problem()) is not None:
            self.safety.note("created_at", problem)

    @property
    def was_traced(self) -> bool:
        """True of a generation that is traced, and of one whose trace was cut."""
        return self.tracing.running or self._cut is not None

    def survivors(self) -> list[object]:
        """End the trace; return some objects that the generation left behind."""
        try:
            return self.tracing.survivors()
        except Exception as error:
            pass_on(error)
            self.tracing.stop()
            self.safety.note("created_at", error)
            return []

    def sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        """Return where the survivors were made, with what holds them."""
        return self._cut or self._sites(held)

    def _sites(self, held: tuple[Held | None, ...]) -> tuple[Site, ...]:
        try:
            return self.tracing.sites([who.held_by if who else None for who in held])
        except Exception as error:
            pass_on(error)
            self.safety.note("created_at", error)
            return ()

    def _stop_early(self) -> None:
        if self.tracing.running:
            survivors = self.survivors()
            self._cut = self._sites(self.looker.holders_of(survivors))

    def end_limit(self) -> None:
        """Cut the trace no more: its generation ends."""
        if self._limit is not None:
            limit, self._limit = self._limit, None
            limit.cancel()

    def choose(self, look: Look) -> None:
        """Where something grew: see in the run so far what a traced generation could tell."""
        # That objects grow is news of a look; that memory does is read without one.
        grew = self.looker.swells or (look.depth and self.looker.grows)
        worth_it = grew and self.tracing.worth_asking(self._rounds)
        if worth_it and self.diagnoses.affordable:
            self.tracing.choose(self._rounds, self.diagnoses.findings)
