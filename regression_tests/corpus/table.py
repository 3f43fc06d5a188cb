"""The table of all reports, kept in the repository, and what is different from it."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regression_tests.benchmarks.leakbench.score import Marks
from regression_tests.corpus.judge import Judged
from regression_tests.corpus.keys import is_aside

TABLE = Path(__file__).with_name("table.tsv")
_ASKED = ("type", "holder", "phase", "start", "line")
#: The heads of the columns of sums: a set, what it has, what is right.
HEAD = ("set", "runs", "leaks", "found", "suspected", "named", *_ASKED, "calm", "accused",
        "strangers", "failed")  # fmt: skip
LEGEND = """
Of the leaks that the key knows, **found** are accused as a leak and **suspected** with less;
**named** says that some finding is of the leak. Holder, phase, start and line: right of those that
the key has; a line that makes what leaks, or one that keeps it. **Calm** runs leak nothing;
**accused** are those of them with a finding. **Strangers** are findings of leaking runs that are no
leak of the key.
"""


def line_of(judged: Judged) -> str:
    """Return a run's line of the table, without its name: verdict, findings, cleared and score.

    Of a run that is set aside only a hash is told, so that nobody reads it by chance.
    """
    parts = (judged.verdict, " | ".join(judged.findings), ", ".join(judged.cleared), _score(judged))
    told = "\t".join(parts)
    if is_aside(judged.run):
        return f"set aside {hashlib.sha256(told.encode()).hexdigest()[:12]}"
    return told


def _score(judged: Judged) -> str:
    """Return how much of a report is right, so that a change says whether it is for the better."""
    right = (f"{_right(judged.marks, asked)} {asked}" for asked in ("detected", *_ASKED))
    return f"right: {', '.join(right)}; {judged.accused} accused"


def _right(marks: Sequence[Marks], asked: str) -> int:
    return sum(getattr(mark, asked) is True for mark in marks)


def write_table(kept: Mapping[str, str], judged: Iterable[Judged], path: Path = TABLE) -> None:
    """Write the table, a line a run, by name; of runs that were not judged ``kept`` has theirs."""
    lines = {**kept, **{one.run: line_of(one) for one in judged}}
    text = "".join(f"{run}\t{line}\n" for run, line in sorted(lines.items()))
    path.write_text(text, encoding="utf-8")


def read_table(path: Path = TABLE) -> dict[str, str]:
    """Return the line of each run; nothing where there is no table yet."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {run: line for run, _, line in (line.partition("\t") for line in lines)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A run whose report is not what the table says; ``before`` is None for a new run."""

    run: str
    before: str | None
    after: str

    @property
    def told(self) -> str:
        """What is different, part by part."""
        if self.before is None:
            return f"{self.run}: new"
        parts = zip(self.before.split("\t"), self.after.split("\t"), strict=False)
        lines = [
            f"  - {old or 'nothing'}\n  + {new or 'nothing'}" for old, new in parts if old != new
        ]
        return "\n".join([self.run, *lines])


def differences(judged: Iterable[Judged], table: Mapping[str, str]) -> list[Difference]:
    """Return each report that is another than the table's, by name."""
    lines = {one.run: line_of(one) for one in judged}
    return [
        Difference(run, table.get(run), line)
        for run, line in sorted(lines.items())
        if table.get(run) != line
    ]


def sums(judged: Iterable[Judged]) -> Iterator[tuple[str, ...]]:
    """Yield a row of counts for each set, and one for all; what is set aside comes last."""
    open_to_all, aside = _split(judged)
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in open_to_all:
        groups[one.group].append(one)
    yield from (_row(name, groups[name]) for name in sorted(groups))
    yield _row("all", open_to_all)
    if aside:
        yield _row("set aside", aside)


def _split(judged: Iterable[Judged]) -> tuple[list[Judged], list[Judged]]:
    open_to_all: list[Judged] = []
    aside: list[Judged] = []
    for one in judged:
        (aside if is_aside(one.run) else open_to_all).append(one)
    return open_to_all, aside


def _row(name: str, judged: Sequence[Judged]) -> tuple[str, ...]:
    marks = [mark for one in judged for mark in one.marks]
    calm = [one for one in judged if not one.marks]
    answers = [[getattr(mark, asked) for mark in marks] for asked in _ASKED]
    counts = (
        len(judged),
        len(marks),
        sum(mark.detected for mark in marks),
        sum(mark.suspected for mark in marks),
        sum(mark.named for mark in marks),
        *(f"{each.count(True)}/{len(each) - each.count(None)}" for each in answers),
        len(calm),
        sum(one.accused > 0 for one in calm),
        sum(one.accused for one in judged if one.marks),
        sum(one.verdict.startswith("fails") for one in judged),
    )
    return (name, *map(str, counts))


def markdown(rows: Iterable[Sequence[str]], head: Sequence[str] = HEAD) -> str:
    """Return rows as a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
