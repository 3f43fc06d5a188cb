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
from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.player import Player
from regression_tests.benchmarks.sets.leakbench import entry_of

PATIENCE = 200.0


@dataclass(frozen=True, slots=True)
class Task:
    """One side of a program, to be played under a tool."""

    tool: str
    program: Program
    leak: bool
    entry: Entry


def case_of(task: Task, player: Player) -> Case:
    """Return what the tool says; the program is played only if the player has not played it yet."""
    (playing,) = player.play([task.entry])
    folder, failure = player.run_of(task.entry), playing.failure
    if failure is None and folder is not None:
        try:
            verdict, said = _said(task.tool, folder)
            cpu = float(json.loads((folder / "cpu.json").read_text(encoding="utf-8")))
            return Case(task.tool, task.program, task.leak, said, cpu, None, verdict)
        except Exception as error:  # a tool that falls over has given no answer
            failure = f"{type(error).__name__}: {error}"
    return Case(task.tool, task.program, task.leak, (), None, failure)


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
        Task(tool, program, leak, entry_of(options.group, program, leak, tool, repetition))
        for tool in options.tool or ["leakguard"]
        for repetition in range(1, 1 + (options.repeat if tool in OURS else 1))
        for program, leak in sides(options.only)
    ]
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        player = Player(options.runs or Path(scratch), jobs=1, patience=PATIENCE)
        for case in pool.map(lambda task: case_of(task, player), tasks):
            cases.append(case)
            print("\n".join(table.misses([case])) or ".", file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(table.page(cases, about), encoding="utf-8")
    print(table.page(cases, about))


if __name__ == "__main__":
    main()
