"""What a tool said about one run, against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leakguard.model import Finding
from regression_tests.benchmarks.leakbench.program import Planted, Truth

OFF = 1.5
"""A size is right within this factor: the planter knows the payload, the object headers and what a
list or a hash table keeps in reserve are estimates (a list up to 1.125, a dict up to 2 of its
entries)."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a tool accuses; what it does not say is None.

    ``site`` is the line that makes what piles up, ``kept`` the lines that keep it.
    """

    verdict: str
    kind: str | None = None
    type: str | None = None
    phase: str | None = None
    holder: str | None = None
    start: int | None = None
    site: str | None = None
    reason: str = ""
    size: float | None = None
    fix: str | None = None
    kept: tuple[str, ...] = ()


def said_by(finding: Finding) -> Said:
    """Return a finding of leakguard as an accusation."""
    f = finding
    return Said(
        f.verdict, f.kind, f.type, f.phase, f.held_by, f.started_at, f.created_at, f.reason,
        f.bytes_per_generation, f.fix, f.kept_at,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One side of one program, run under one tool.

    Attributes:
        failure: why the run gave no answer; None when it did.
        cpu: CPU seconds that the program and the tool took; None when the run gave no answer.
        verdict: of the whole run; None where the tool has no such word.
    """

    tool: str
    program: Planted
    leak: bool
    said: tuple[Said, ...]
    cpu: float | None
    failure: str | None = None
    verdict: str | None = None

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
    """What is right about the accusation that fits one leak best; None is not asked.

    Attributes:
        named: whether the type, the holder or a line of the program is right.
    """

    detected: bool
    suspected: bool
    named: bool
    type: bool | None
    holder: bool | None
    phase: bool | None
    start: bool | None
    size: bool | None
    line: bool | None
    fix: bool | None = None

    @property
    def wrong(self) -> list[str]:
        """The names of what was asked and is not right."""
        asked = ("type", "holder", "phase", "start", "size", "line", "fix")
        return [name for name in asked if getattr(self, name) is False]


def marks_of(case: Case) -> list[Marks]:
    """Mark each leak of a run by the accusation that fits it best; none serves for two."""
    said = [*case.leaks, *(one for one in case.alarms if one.verdict != "leak")]
    truths = case.program.truths
    pairs = [(t, s) for t in range(len(truths)) for s in range(len(said))]
    pairs.sort(key=lambda pair: (said[pair[1]].verdict != "leak", -_merit(said, truths, *pair)))
    chosen: dict[int, int] = {}
    for t, s in pairs:
        if t not in chosen and s not in chosen.values():
            chosen[t] = s
    best = [said[chosen[t]] if t in chosen else None for t in range(len(truths))]
    return [_marks(case, truth, one) for truth, one in zip(truths, best, strict=True)]


def strangers(case: Case) -> list[Said]:
    """Return the accusations of a leaking run that name none of its leaks."""
    truths = case.program.truths
    return [s for s in case.alarms if not any(_names_it(s, truth, case) for truth in truths)]


def _merit(said: Sequence[Said], truths: Sequence[Truth], t: int, s: int) -> int:
    return sum(_fits(said[s], truths[t]))


def _marks(case: Case, truth: Truth, said: Said | None) -> Marks:
    right = (False,) * 7 if said is None else _fits(said, truth)
    return Marks(
        said is not None and said.verdict == "leak",
        said is not None and said.verdict != "leak",
        any(_names_it(one, truth, case) for one in case.alarms),
        right[0] if truth.type or truth.kind else None,
        right[1] if truth.holder else None,
        right[2] if truth.phase else None,
        right[3] if truth.start is not None else None,
        right[4] if truth.size else None,
        right[5] if truth.lines else None,
        right[6] if truth.fix else None,
    )


def _names_it(said: Said, truth: Truth, case: Case) -> bool:
    in_program = said.site is not None and case.program.file in said.site
    type_, holder, _, _, _, line, _ = _fits(said, truth)
    return in_program or type_ or holder or line


def _fits(said: Said, truth: Truth) -> tuple[bool, ...]:
    return (
        _is_it(said, truth),
        _names(said.holder, truth.holder),
        said.phase in truth.phase,
        _near_start(said.start, truth),
        _near(said.size, truth.size),
        any(
            _names(f"{at} ", [f"{line} " for line in truth.lines]) for at in (said.site, *said.kept)
        ),
        truth.fix in (said.fix or ""),
    )


def _is_it(said: Said, truth: Truth) -> bool:
    if (said.type or "").rpartition(".")[2] in truth.type:
        return True
    no_object = said.kind in ("native", "memory")
    return said.kind in truth.kind and not (no_object and said.type)


def _near_start(said: int | None, truth: Truth) -> bool:
    return None not in (said, truth.start) and abs(said - truth.start) <= truth.within  # type: ignore[operator]


def _near(said: float | None, truth: float | None) -> bool:
    return said is not None and truth is not None and truth / OFF <= said <= truth * OFF


def _names(text: str | None, pieces: Sequence[str]) -> bool:
    return text is not None and any(piece in text for piece in pieces)
