"""The table of a set in Markdown: a row for each leak and calm side, then what went wrong."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

from regression_tests.benchmarks.leakbench.score import Case, Marks, marks_of, strangers
from regression_tests.benchmarks.leakbench.table import misses, problem, share
from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.manifest import Manifest
from regression_tests.benchmarks.playing.play import Play

#: Programs with their plays.
Played = Sequence[tuple[Entry, Sequence[Play]]]
_MACHINES = {
    "idle": "without a load of the benchmark's own",
    "loaded": "beside two processes that only compute",
}


def page(manifest: Manifest, played: Played, revision: str) -> str:
    """Return the sums, the table, and in words what was missed or wrongly accused."""
    by_machine = {name: _cases(played, name) for name in _MACHINES}
    wrong = Counter("\n".join(misses([play.case(e)])) for e, plays in played for play in plays)
    rows = _of_leaks(played, manifest.asked) if manifest.asked else _of_plays(played, by_machine)
    head, *others = rows
    lines = [
        f"# {manifest.name}",
        "",
        f"{manifest.about} leakguard at {revision}.",
        *(line for name, each in by_machine.items() for line in sums(name, each, manifest.asked)),
        "",
        _row(head),
        "|---" * len(head) + "|",
        *map(_row, others),
        *(["", "What leakguard got wrong:", ""] if any(wrong) else []),
        *(text + f"\n  - {n} times" * (n > 1) for text, n in wrong.items() if text),
    ]
    return "\n".join(lines) + "\n"


def _cases(played: Played, machine: str) -> list[list[Case]]:
    """Return what was said of each program on a machine, of those that were played there."""
    each = ([play.case(e) for play in plays if play.machine == machine] for e, plays in played)
    return list(filter(None, each))


def sums(machine: str, each: Sequence[Sequence[Case]], asked: Sequence[str]) -> Iterator[str]:
    """Yield how much was right on a machine, and how steady that was."""
    if not each:
        return
    times = max(map(len, each))
    often = "once" if times == 1 else f"{times} times"
    yield from ("", f"{len(each)} programs, each {often} {_MACHINES[machine]}:", "")
    if asked:
        yield from _found([case for cases in each for case in cases], asked)
    right = sum(not any(map(problem, cases)) for cases in each)
    yield f"- {right} of {len(each)} right{' every time' * (times > 1)}"
    if asked and times > 1:
        for name, of in _SAME.items():
            same = sum(len(set(map(of, cases))) == 1 for cases in each)
            yield f"- {same} of {len(each)} with one {name}"


_SAME = {
    "verdict": attrgetter("verdict"),
    "set of holders": lambda case: frozenset(said.holder for said in case.alarms),
    "set of lines": lambda case: frozenset(said.site for said in case.alarms),
}


def _found(cases: Sequence[Case], asked: Sequence[str]) -> Iterator[str]:
    marks = [mark for case in cases if case.leak for mark in marks_of(case)]
    calm = [case for case in cases if not case.leak]
    shares = {name: share(marks, attrgetter(name)) for name in asked}
    right = ", ".join(f"{name} {each}" for name, each in shares.items() if each != "0/0")
    others = sum(len(strangers(case)) for case in cases if case.leak)
    yield (
        f"- leaks: {share(marks, lambda m: m.detected)} found, {share(marks, lambda m: m.named)} "
        f"named; right {right}; {others} strangers"
    )
    yield (
        f"- calm runs: {sum(bool(case.alarms) for case in calm)} of {len(calm)} accused, "
        f"{sum(case.verdict == 'stable' for case in calm)} called stable"
    )
    yield f"- no answer: {sum(case.failure is not None for case in cases)} of {len(cases)} runs"


def _of_plays(played: Played, by_machine: Mapping[str, object]) -> Iterator[list[str]]:
    """Yield the head, and how many plays of each program are right on each machine."""
    machines = [name for name, each in by_machine.items() if each]
    yield ["program", *machines]
    for entry, plays in played:
        right = Counter(play.machine for play in plays if not problem(play.case(entry)))
        of = Counter(play.machine for play in plays)
        yield [entry.name, *(f"{right[name]} of {of[name]}" for name in machines)]


def _of_leaks(played: Played, asked: Sequence[str]) -> Iterator[list[str]]:
    """Yield the head, and a row for each leak or calm side: what all its plays said."""
    yield ["program", "leak", "verdict", "found", *asked, "strangers"]
    for entry, plays in played:
        cases = [play.case(entry) for play in plays]
        verdict = _each(case.failure or case.verdict or "-" for case in cases)
        if not entry.truths:
            accused = _each(str(len(case.alarms)) for case in cases)
            yield [entry.name, "", verdict, *"-" * (1 + len(asked)), accused]
        other = _each(str(len(strangers(case))) for case in cases)
        of_each = zip(*map(marks_of, cases), strict=True)
        for truth, marks in zip(entry.truths, of_each, strict=True):
            what = f"`{next(iter((*truth.holder, *truth.type, *truth.kind)), '-')}`"
            right = (_each(_answer(getattr(mark, word)) for mark in marks) for word in asked)
            yield [entry.name, what, verdict, _each(map(_is_found, marks)), *right, other]


def _each(words: Iterable[str]) -> str:
    """Return the word of all, or each with how often it was said."""
    counted = Counter(words).most_common()
    return counted[0][0] if len(counted) == 1 else ", ".join(f"{n} {word}" for word, n in counted)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _is_found(mark: Marks) -> str:
    return "yes" if mark.detected else "suspected" if mark.suspected else "**no**"


def _answer(mark: bool | None) -> str:
    return {True: "right", False: "**wrong**", None: "-"}[mark]


def version() -> str:
    """Return the commit that is judged; ``dirty`` where the checkout differs from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"


def keep_page(file: Path, text: str, module: str) -> None:
    """Write a page, and beside those of other pages the command that made it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    commands = file.with_name("COMMAND")
    before = commands.read_text(encoding="utf-8").splitlines() if commands.exists() else []
    others = [line for line in before if not {str(file), str(file.parent)} & {*line.split()}]
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    commands.write_text("".join(f"{line}\n" for line in [*others, command]), encoding="utf-8")
