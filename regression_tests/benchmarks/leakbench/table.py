"""The table and the list of misses, in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from regression_tests.benchmarks.leakbench.child import OURS
from regression_tests.benchmarks.leakbench.peers import ALONE
from regression_tests.benchmarks.leakbench.score import Case, Marks, Said, marks_of

HEAD = (
    "| tool | leaks | detected | only suspected | named right | right type or kind | right holder "
    "| right phase | start within 1 | strangers | calm runs | false alarms | CPU s added |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


LEGEND = """
Every program runs in a fresh process for ten generations of a few phases; a leaking one also runs
as its clean twin, with the fix applied. **Named right**: the type, the holder or a line of the
program is right in one accusation. **Strangers**: accusations in leaking programs that name none of
the three. **False alarms**: calm runs (clean twins and look-alikes) with a leak or a suspect.
leakguard is the guard as it comes, which looks in depth at eight of the ten generations (with
`leakguard-unlimited` at all of them and all their phases), and its verdict counts as it stands. The
others look once after each generation and know no phases; a number that never falls in the last six
generations and rises in half of them or more is called a leak, the five largest at most:

- objgraph: tracked objects of each type, after a collection.
- pympler: bytes of each type, rising by more than 500 in a generation.
- tracemalloc: bytes of each line of one frame, after a collection, rising by more than 500.
- rss: a line through the last six resident sizes rises by more than 10 kB a generation and by three
  times its own error; it names nothing.
- memray: as pytest-memray's ``limit_leaks``, traces from the start to the end; a stack leaks that
  keeps more than 500 bytes for each generation.

psleak is not among them: it calls a function hundreds of times until growth fades, which programs
of ten generations cannot serve.

**CPU s added**: what a run takes more than the same program alone, median over all runs, from the
first line of the program to the tool's answer (for leakguard: to the end of its recording).
"""


def page(cases: Sequence[Case]) -> str:
    """Return the table, a row for each tool, then what leakguard has missed."""
    by_tool: dict[str, list[Case]] = {}
    for case in cases:
        by_tool.setdefault(case.tool, []).append(case)
    alone = _cpu_by_side(by_tool.pop(ALONE, []))
    rows = [row(tool, its, alone) for tool, its in by_tool.items()]
    missed = misses(case for case in cases if case.tool == "leakguard")
    return "\n".join([HEAD, *rows, LEGEND, "What leakguard got wrong:\n", *missed, ""])


def row(tool: str, cases: Sequence[Case], alone: Mapping[tuple[str, bool], float]) -> str:
    """Return one tool's row; ``alone`` has the CPU seconds of each side of a program by itself."""
    marks = [marks_of(case) for case in cases if case.leak]
    calm = [case for case in cases if not case.leak]
    own = _cpu_by_side(cases)
    added = [own[side] - alone[side] for side in own.keys() & alone.keys()]
    cells = [
        tool,
        str(len(marks)),
        _share(marks, lambda m: m.detected),
        str(sum(m.suspected for m in marks)),
        _share(marks, lambda m: m.named),
        *(_share(marks, of) for of in _ASKED[:2]),
        _share(marks, _ASKED[2]) if tool in OURS else "-",
        _share(marks, _ASKED[3]),
        str(sum(m.strangers for m in marks)),
        str(len(calm)),
        str(sum(bool(case.alarms) for case in calm)),
        f"{statistics.median(added):.2f}" if added else "-",
    ]
    return f"| {' | '.join(cells)} |"


def _cpu_by_side(cases: Iterable[Case]) -> dict[tuple[str, bool], float]:
    """Return the median CPU seconds of each side of a program."""
    seconds: dict[tuple[str, bool], list[float]] = {}
    for case in cases:
        if case.cpu is not None:
            seconds.setdefault((case.program.name, case.leak), []).append(case.cpu)
    return {side: statistics.median(several) for side, several in seconds.items()}


_ASKED: tuple[Callable[[Marks], bool | None], ...] = (
    lambda m: m.type,
    lambda m: m.holder,
    lambda m: m.phase,
    lambda m: m.start,
)


def _share(marks: Iterable[Marks], of: Callable[[Marks], bool | None]) -> str:
    asked = [mark for mark in map(of, marks) if mark is not None]
    return f"{sum(asked)}/{len(asked)}"


def misses(cases: Iterable[Case]) -> list[str]:
    """Return a few lines for every case that is not entirely right."""
    lines: list[str] = []
    for case in cases:
        problem = _problem(case)
        if problem:
            lines += [f"- **{case.program.name}** ({_side(case)}): {problem}"]
            lines += [f"  - truth: {_truth(case)}"] if case.leak else []
            lines += [f"  - said: {_line(said)}" for said in case.said]
    return lines


def _side(case: Case) -> str:
    if case.program.truth is None:
        return "look-alike"
    return "leak" if case.leak else "clean twin"


def _problem(case: Case) -> str:
    if case.failure:
        return f"no answer: {case.failure}"
    if not case.leak:
        return "false alarm" if case.alarms else ""
    marks = marks_of(case)
    wrong = [name for name in ("type", "holder", "phase", "start") if getattr(marks, name) is False]
    if not marks.detected:
        return "only suspected" if marks.suspected else "not detected"
    wrong += [f"{marks.strangers} strangers"] if marks.strangers else []
    return f"wrong {', '.join(wrong)}" if wrong else ""


def _truth(case: Case) -> str:
    truth = case.program.truth
    assert truth is not None
    return (
        f"type {'/'.join(truth.type) or '-'}, kind {'/'.join(truth.kind) or 'any'}, "
        f"holder {'/'.join(truth.holder) or '-'}, phase {'/'.join(map(str, truth.phase))}, "
        f"start {truth.start}"
    )


def _line(said: Said) -> str:
    return (
        f"{said.verdict} {said.kind} {said.type}, phase {said.phase}, held by {said.holder}, "
        f"start {said.start}: {said.reason}"
    )
