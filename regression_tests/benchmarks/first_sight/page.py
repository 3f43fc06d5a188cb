"""The first-sight table in Markdown: a row for each side of each script, then what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from regression_tests.benchmarks.leakbench.score import Case, marks_of, strangers
from regression_tests.benchmarks.leakbench.table import misses, share

HEAD = (
    "| script | side | verdict | found | type or kind | holder | line | phase | start | strangers |"
    "\n|---|---|---|---|---|---|---|---|---|---|"
)


def page(cases: Sequence[Case], version: str, watched: str) -> str:
    """Return the sums, the table, and in words what was missed or wrongly accused."""
    lines = [*sums(cases, version, watched), "", HEAD]
    lines += [row for case in cases for row in rows(case)]
    return "\n".join([*lines, "", "What leakguard got wrong:\n", *misses(cases), ""])


def sums(cases: Sequence[Case], version: str, watched: str) -> list[str]:
    """Return how many leaks were found and named, and how many calm runs were accused."""
    marks = [mark for case in cases if case.leak for mark in marks_of(case)]
    calm = [case for case in cases if not case.leak]
    asked = ("type", "holder", "line", "phase", "start")
    right = ", ".join(f"{name} {share(marks, attrgetter(name))}" for name in asked)
    return [
        f"leakguard at {version}, each program run once, {watched}.",
        "",
        f"- leaks: {share(marks, lambda m: m.detected)} found, {share(marks, lambda m: m.named)} "
        f"named; right {right}",
        f"- calm runs: {sum(bool(case.alarms) for case in calm)} of {len(calm)} accused, "
        f"{sum(case.verdict == 'stable' for case in calm)} called stable",
        f"- no answer: {sum(case.failure is not None for case in cases)} of {len(cases)} runs",
    ]


def rows(case: Case) -> list[str]:
    """Return a row for each leak of a leaking run, else one."""
    name, verdict = case.program.name, case.failure or case.verdict or "-"
    if not case.leak:
        side = "clean" if case.program.truths else "look-alike"
        cells = [name, side, verdict, "-", "-", "-", "-", "-", "-", str(len(case.alarms))]
        return [f"| {' | '.join(cells)} |"]
    other = str(len(strangers(case)))
    answers = [
        [name, "leak", verdict, _found(m.detected, m.suspected),
         *(_answer(mark) for mark in (m.type, m.holder, m.line, m.phase, m.start)), other]
        for m in marks_of(case)
    ]  # fmt: skip
    return [f"| {' | '.join(cells)} |" for cells in answers]


def _found(detected: bool, suspected: bool) -> str:
    return "yes" if detected else "suspected" if suspected else "**no**"


def _answer(mark: bool | None) -> str:
    return {True: "right", False: "**wrong**", None: "-"}[mark]
