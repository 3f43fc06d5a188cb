"""The table and the list of misses, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from leakguard.model.units import format_bytes
from regression_tests.benchmarks.leakbench.child import OURS
from regression_tests.benchmarks.leakbench.peers import ALONE
from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.leakbench.score import Case, Marks, Said, marks_of, strangers

HEAD = (
    "| tool | leaks | detected | only suspected | named right | right type or kind | right holder "
    "| right phase | right start | right size | strangers | calm runs | false alarms "
    "| called stable | CPU s added | CPU ratio |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


LEGEND = """
Every program runs in a fresh process; a leaking one also runs as its clean twin, with the fix
applied. **Named right**: the type, the holder or a line of the program is right in one accusation.
**Right start**: within a generation, or within what the program says where it leaks now and then.
**Right size**: the bytes a generation are within a factor of 1.5. **Strangers**: accusations in
leaking programs that name none of their leaks. **False alarms**: calm runs (clean twins and
look-alikes) with a leak or a suspect. leakguard is the guard as it comes, and its verdict counts as
it stands. The others look once after each generation and know no phases; a number that never falls
in the last six generations and rises in half of them or more is called a leak, the five largest at
most:

- objgraph: tracked objects of each type, after a collection.
- pympler: bytes of each type, rising by more than 500 in a generation.
- tracemalloc: bytes of each line of one frame, after a collection, rising by more than 500.
- rss: a line through the last six resident sizes rises by more than 10 kB a generation and by three
  times its own error; it names nothing.
- memray: as pytest-memray's ``limit_leaks``, traces from the start to the end; a stack leaks that
  keeps more than 500 bytes for each generation.

**CPU s added**: what a run takes more than the same program alone, median over all runs, from the
first line of the program to the tool's answer (for leakguard: to the end of its recording). **CPU
ratio**: the same as a ratio, median and largest.
"""


def page(cases: Sequence[Case], about: str) -> str:
    """Return the table, a row for each tool, what it means, and then what leakguard has missed."""
    by_tool: dict[str, list[Case]] = {}
    for case in cases:
        by_tool.setdefault(case.tool, []).append(case)
    alone = _cpu_by_side(by_tool.pop(ALONE, []))
    rows = [row(tool, its, alone) for tool, its in by_tool.items()]
    missed = misses(case for case in cases if case.tool == "leakguard")
    return "\n".join([HEAD, *rows, about, LEGEND, "What leakguard got wrong:\n", *missed, ""])


def row(tool: str, cases: Sequence[Case], alone: Mapping[tuple[str, bool], float]) -> str:
    """Return one tool's row; ``alone`` has the CPU seconds of each side of a program by itself."""
    leaking = [case for case in cases if case.leak]
    marks = [mark for case in leaking for mark in marks_of(case)]
    calm = [case for case in cases if not case.leak]
    own = _cpu_by_side(cases)
    both = own.keys() & alone.keys()
    cells = [
        tool,
        str(len(marks)),
        share(marks, lambda m: m.detected),
        str(sum(m.suspected for m in marks)),
        share(marks, lambda m: m.named),
        share(marks, lambda m: m.type),
        share(marks, lambda m: m.holder),
        share(marks, lambda m: m.phase) if tool in OURS else "-",
        share(marks, lambda m: m.start),
        share(marks, lambda m: m.size) if tool in OURS else "-",
        str(sum(len(strangers(case)) for case in leaking)),
        str(len(calm)),
        str(sum(bool(case.alarms) for case in calm)),
        str(sum(case.verdict == "stable" for case in calm)) if tool in OURS else "-",
        _median([own[side] - alone[side] for side in both]),
        _median([own[side] / alone[side] for side in both], worst=True),
    ]
    return f"| {' | '.join(cells)} |"


def _median(values: Sequence[float], *, worst: bool = False) -> str:
    if not values:
        return "-"
    return f"{statistics.median(values):.2f}" + (f", {max(values):.2f}" if worst else "")


def _cpu_by_side(cases: Iterable[Case]) -> dict[tuple[str, bool], float]:
    """Return the median CPU seconds of each side of a program."""
    seconds: dict[tuple[str, bool], list[float]] = {}
    for case in cases:
        if case.cpu is not None:
            seconds.setdefault((case.program.name, case.leak), []).append(case.cpu)
    return {side: statistics.median(several) for side, several in seconds.items()}


def share(marks: Iterable[Marks], of: Callable[[Marks], bool | None]) -> str:
    """Return how many of the marks that were asked are right."""
    asked = [mark for mark in map(of, marks) if mark is not None]
    return f"{sum(asked)}/{len(asked)}"


def misses(cases: Iterable[Case]) -> list[str]:
    """Return a few lines for every case that is not entirely right."""
    lines: list[str] = []
    for case in cases:
        wrong = problem(case)
        if wrong and case.tool != ALONE:
            lines += [f"- **{case.program.name}**{' (leak)' * case.leak}: {wrong}"]
            lines += [f"  - truth: {_truth(truth)}" for truth in case.program.truths if case.leak]
            lines += [f"  - said: {_line(said)}" for said in case.said]
    return lines


def problem(case: Case) -> str:
    """Return what is not right about a case; nothing where all is."""
    if case.failure:
        return case.failure
    if not case.leak:
        return "false alarm" if case.alarms else ""
    wrong = [_shortcoming(mark) for mark in marks_of(case)]
    other = strangers(case)
    wrong += [f"{len(other)} strangers"] if other else []
    return "; ".join(filter(None, wrong))


def _shortcoming(mark: Marks) -> str:
    if not mark.detected:
        return "only suspected" if mark.suspected else "not detected"
    return f"wrong {', '.join(mark.wrong)}" if mark.wrong else ""


def _truth(truth: Truth) -> str:
    size = f", {format_bytes(truth.size)} a generation" if truth.size else ""
    return (
        f"type {'/'.join(truth.type) or '-'}, kind {'/'.join(truth.kind) or 'any'}, "
        f"holder {'/'.join(truth.holder) or '-'}, phase {'/'.join(map(str, truth.phase))}, "
        f"start {'-' if truth.start is None else f'{truth.start} ± {truth.within}'}{size}"
        f"{', line ' if truth.lines else ''}{'/'.join(truth.lines)}"
    )


def _line(said: Said) -> str:
    size = f", {format_bytes(said.size)} a generation" if said.size else ""
    return (
        f"{said.verdict} {said.kind} {said.type}, phase {said.phase}, held by {said.holder}, "
        f"made at {said.site}, start {said.start}{size}: {said.reason}"
    )
