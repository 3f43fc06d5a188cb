"""What a tool said about one run, against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regression_tests.benchmarks.leakbench.program import Program, Truth


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a tool accuses; what it does not say is None."""

    verdict: str
    kind: str | None = None
    type: str | None = None
    phase: str | None = None
    holder: str | None = None
    start: int | None = None
    site: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One side of one program, run under one tool.

    Attributes:
        failure: why the run gave no answer; None when it did.
        cpu: CPU seconds that the program and the tool took; None when the run gave no answer.
    """

    tool: str
    program: Program
    leak: bool
    said: tuple[Said, ...]
    cpu: float | None
    failure: str | None = None

    @property
    def alarms(self) -> list[Said]:
        """What is a leak or a suspect."""
        return [said for said in self.said if said.verdict in ("leak", "suspect")]

    @property
    def leaks(self) -> list[Said]:
        """What is called a leak."""
        return [said for said in self.said if said.verdict == "leak"]


@dataclass(frozen=True, slots=True)
class Marks:
    """What is right about the best of a case's accusations; None is not asked.

    Attributes:
        named: whether the type, the holder or a line of the program is right.
        strangers: accusations that name neither the right type nor the right holder nor a line.
    """

    detected: bool
    suspected: bool
    named: bool
    type: bool | None
    holder: bool | None
    phase: bool
    start: bool
    strangers: int

    @property
    def perfect(self) -> bool:
        """Whether nothing that was asked is wrong."""
        asked = (self.detected, self.type, self.holder, self.phase, self.start)
        return all(mark is not False for mark in asked) and not self.strangers


def marks_of(case: Case) -> Marks:
    """Mark a leaking run by the accusation that fits the truth best."""
    truth = case.program.truth
    assert truth is not None
    best = max(case.leaks or case.alarms, key=lambda said: sum(_fits(said, truth)), default=None)
    right = (False,) * 4 if best is None else _fits(best, truth)
    named = [any(_fits(said, truth)[:2]) or _in_program(said, case) for said in case.alarms]
    return Marks(
        bool(case.leaks),
        bool(case.alarms) and not case.leaks,
        any(named),
        right[0] if truth.type or truth.kind else None,
        right[1] if truth.holder else None,
        right[2],
        right[3],
        named.count(False),
    )


def _in_program(said: Said, case: Case) -> bool:
    return said.site is not None and case.program.main.__code__.co_filename in said.site


def _fits(said: Said, truth: Truth) -> tuple[bool, bool, bool, bool]:
    of_type = (said.type or "").rpartition(".")[2] in truth.type or said.kind in truth.kind
    return (
        of_type,
        _names(said.holder, truth.holder),
        said.phase in truth.phase,
        said.start is not None and abs(said.start - truth.start) <= 1,
    )


def _names(text: str | None, pieces: Sequence[str]) -> bool:
    return text is not None and any(piece in text for piece in pieces)
