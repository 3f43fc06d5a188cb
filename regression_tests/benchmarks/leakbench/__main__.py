"""Run LeakBench: ``python -m regression_tests.benchmarks.leakbench --help``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import leakguard
from regression_tests.benchmarks.leakbench import programs, table
from regression_tests.benchmarks.leakbench.peers import PEERS
from regression_tests.benchmarks.leakbench.program import PROGRAMS, Program
from regression_tests.benchmarks.leakbench.score import Case, Said

assert programs

CHILD = [sys.executable, "-m", "regression_tests.benchmarks.leakbench.child"]
PATIENCE = 200


def run(tool: str, program: Program, leak: bool) -> Case:
    """Run one side of a program under a tool in a fresh process, and read what the tool says."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        failure = _play(tool, program, leak, folder)
        seconds = time.perf_counter() - began
        if failure is not None:
            return Case(tool, program, leak, (), seconds, failure)
        try:
            return Case(tool, program, leak, _said(tool, Path(folder)), seconds)
        except Exception as error:  # a tool that falls over has given no answer
            return Case(tool, program, leak, (), seconds, f"{type(error).__name__}: {error}")


def _play(tool: str, program: Program, leak: bool, folder: str) -> str | None:
    command = [*CHILD, tool, program.name, "leak" if leak else "clean", folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return None


def _said(tool: str, folder: Path) -> tuple[Said, ...]:
    if tool != "leakguard":
        rows = json.loads((folder / "said.json").read_text(encoding="utf-8"))
        return tuple(Said(**row) for row in rows)
    findings = leakguard.diagnose(leakguard.load(folder / "run.jsonl")).findings
    return tuple(
        Said(f.verdict, f.kind, f.type, f.phase, f.held_by, f.started_at, f.created_at, f.reason)
        for f in findings
    )


def sides(names: list[str]) -> list[tuple[Program, bool]]:
    """Return every program with each of its sides, the leaks first."""
    wanted = [p for p in PROGRAMS.values() if not names or any(name in p.name for name in names)]
    leaks = [(program, True) for program in wanted if program.truth is not None]
    return leaks + [(program, False) for program in wanted]


def main() -> None:
    """Run the benchmark, print the table, and keep the file of ``--out`` current meanwhile."""
    parser = argparse.ArgumentParser(description=__doc__)
    tools = ["leakguard", *PEERS]
    parser.add_argument("--tool", action="append", choices=tools, help="leakguard unless given")
    parser.add_argument("--repeat", type=int, default=1, metavar="K")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()

    tasks = [
        (tool, program, leak)
        for tool in options.tool or ["leakguard"]
        for _ in range(options.repeat)
        for program, leak in sides(options.only)
    ]
    cases: list[Case] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for case in pool.map(lambda task: run(*task), tasks):
            cases.append(case)
            print("\n".join(table.misses([case])) or ".", file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(table.page(cases), encoding="utf-8")
    print(table.page(cases))


if __name__ == "__main__":
    main()
