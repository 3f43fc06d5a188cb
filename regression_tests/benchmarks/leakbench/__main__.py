"""Run LeakBench: ``python -m regression_tests.benchmarks.leakbench --help``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import leakguard
from regression_tests.benchmarks.leakbench import table
from regression_tests.benchmarks.leakbench.child import OURS
from regression_tests.benchmarks.leakbench.peers import PEERS
from regression_tests.benchmarks.leakbench.program import PROGRAMS, SETS, Program, open_set
from regression_tests.benchmarks.leakbench.score import Case, Said, said_by
from regression_tests.benchmarks.playing.ended import ended

CHILD = [sys.executable, "-m", "regression_tests.benchmarks.leakbench.child"]
PATIENCE = 200


@dataclass(frozen=True, slots=True)
class Task:
    """One side of a program of the set ``group``, to be run under a tool, for the n-th time."""

    group: str
    tool: str
    program: Program
    leak: bool
    repetition: int

    @property
    def side(self) -> str:
        """The side's name on the child's command line."""
        return "leak" if self.leak else "clean"


def case_of(task: Task, runs: Path) -> Case:
    """Return what the tool says; the program runs only when ``runs`` does not hold it yet."""
    folder = runs / task.tool / f"{task.program.name}-{task.side}-{task.repetition}"
    done = folder / "done.json"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps(_play(task, folder)), encoding="utf-8")
    failure = json.loads(done.read_text(encoding="utf-8"))
    if failure:
        return Case(task.tool, task.program, task.leak, (), None, failure)
    try:
        verdict, said = _said(task.tool, folder)
        cpu = float(json.loads((folder / "cpu.json").read_text(encoding="utf-8")))
    except Exception as error:  # a tool that falls over has given no answer
        failure = f"{type(error).__name__}: {error}"
        return Case(task.tool, task.program, task.leak, (), None, failure)
    return Case(task.tool, task.program, task.leak, said, cpu, None, verdict)


def _play(task: Task, folder: Path) -> str | None:
    (folder / "run.jsonl").unlink(missing_ok=True)
    command = [*CHILD, task.tool, task.group, task.program.name, task.side, str(folder)]
    return ended(command, PATIENCE).failure


def _said(tool: str, folder: Path) -> tuple[str | None, tuple[Said, ...]]:
    if tool not in OURS:
        rows = json.loads((folder / "said.json").read_text(encoding="utf-8"))
        return None, tuple(Said(**row) for row in rows)
    report = leakguard.diagnose(leakguard.load(folder / "run.jsonl"))
    return report.verdict, tuple(map(said_by, report.findings))


def sides(names: list[str]) -> list[tuple[Program, bool]]:
    """Return every program with each of its sides, the leaks first."""
    wanted = [p for p in PROGRAMS.values() if not names or any(name in p.name for name in names)]
    leaks = [(program, True) for program in wanted if program.truths]
    return leaks + [(program, False) for program in wanted]


def main() -> None:
    """Run the benchmark, print the table, and keep the file of ``--out`` current meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__)
    tools = [*OURS, *PEERS]
    parser.add_argument("--set", dest="group", choices=SETS, default="short")
    parser.add_argument("--tool", action="append", choices=tools, help="leakguard unless given")
    parser.add_argument("--repeat", type=int, default=1, metavar="K", help="leakguard's runs")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs, or judge again")
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()

    about = open_set(options.group)
    tasks = [
        Task(options.group, tool, program, leak, repetition)
        for tool in options.tool or ["leakguard"]
        for repetition in range(1, 1 + (options.repeat if tool in OURS else 1))
        for program, leak in sides(options.only)
    ]
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        runs = options.runs or Path(scratch)
        for case in pool.map(lambda task: case_of(task, runs), tasks):
            cases.append(case)
            print("\n".join(table.misses([case])) or ".", file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(table.page(cases, about), encoding="utf-8")
    print(table.page(cases, about))


if __name__ == "__main__":
    main()
