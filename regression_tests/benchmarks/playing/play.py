"""One play of a program: on which machine, and what was said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import leakguard
from regression_tests.benchmarks.leakbench.score import Case, Said, said_by
from regression_tests.benchmarks.playing.entry import Entry


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of one play, or why nothing was."""

    verdict: str | None = None
    said: tuple[Said, ...] = ()
    failure: str | None = None


#: Says what was said of a play, by its run (None without one) and what the program printed.
Judge = Callable[[Entry, Path | None, str], Answer]


def by_run(entry: Entry, run: Path | None, printed: str) -> Answer:
    """Diagnose the run."""
    del entry, printed
    try:
        report = leakguard.diagnose(leakguard.load(run))  # type: ignore[arg-type]
    except Exception as error:  # no answer is an answer, and the table says it
        return Answer(failure=f"{type(error).__name__}: {error}")
    return Answer(report.verdict, tuple(map(said_by, report.findings)))


@dataclass(frozen=True, slots=True)
class Play:
    """The n-th play of a program on a machine, and its answer."""

    key: str
    machine: str
    turn: int
    answer: Answer = field(default=Answer())

    @property
    def place(self) -> tuple[str, str, int]:
        """What tells this play from all others."""
        return self.key, self.machine, self.turn

    def case(self, entry: Entry) -> Case:
        """Return what was said as the scoring of LeakBench takes it."""
        its = self.answer
        return Case("leakguard", entry.planted, bool(entry.truths), its.said, None, its.failure,
                    its.verdict)  # fmt: skip


def kept(file: Path | None) -> Iterator[Play]:
    """Yield the plays that a file holds."""
    lines = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    for line in lines:
        told: dict[str, Any] = json.loads(line)
        answer = told.pop("answer")
        said = tuple(Said(**one) for one in answer.pop("said", ()))
        yield Play(**told, answer=Answer(said=said, **answer))


def keep(play: Play, file: Path) -> None:
    """Add a play to a file, a line of JSON without what is not said."""
    with file.open("a", encoding="utf-8") as lines:
        print(json.dumps(_without_nothing(asdict(play))), file=lines)


def _without_nothing(told: Any) -> Any:
    if isinstance(told, dict):
        return {k: _without_nothing(v) for k, v in told.items() if v not in (None, (), "")}
    return list(map(_without_nothing, told)) if isinstance(told, tuple) else told
