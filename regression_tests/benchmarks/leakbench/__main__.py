"""Run LeakBench: ``python -m regression_tests.benchmarks.leakbench --help``."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import leakguard
from regression_tests.benchmarks.leakbench import programs, table
from regression_tests.benchmarks.leakbench.program import PROGRAMS, Program
from regression_tests.benchmarks.leakbench.score import Case, Said

assert programs

CHILD = [sys.executable, "-m", "regression_tests.benchmarks.leakbench.child"]


def run(program: Program, leak: bool) -> Case:
    """Run one side of a program in a fresh process, and read what leakguard says."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(
            [*CHILD, program.name, "leak" if leak else "clean", folder],
            capture_output=True,
            text=True,
            timeout=120,
        )
        seconds = time.perf_counter() - began
        if done.returncode:
            failure = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            return Case(program, leak, (), seconds, failure)
        return _judged(program, leak, Path(folder), seconds)


def _judged(program: Program, leak: bool, folder: Path, seconds: float) -> Case:
    try:
        report = leakguard.diagnose(leakguard.load(folder / "run.jsonl"))
    except Exception as error:  # a tool that falls over has given no answer
        return Case(program, leak, (), seconds, f"{type(error).__name__}: {error}")
    said = tuple(
        Said(f.verdict, f.kind, f.type, f.phase, f.held_by, f.started_at, f.reason)
        for f in report.findings
    )
    return Case(program, leak, said, seconds)


def sides(names: list[str]) -> list[tuple[Program, bool]]:
    """Return every program with each of its sides, the leaks first."""
    wanted = [p for p in PROGRAMS.values() if not names or any(name in p.name for name in names)]
    leaks = [(program, True) for program in wanted if program.truth is not None]
    return leaks + [(program, False) for program in wanted]


def main() -> None:
    """Run the benchmark, print the table, and write it where ``--out`` says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=1, metavar="K")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE")
    options = parser.parse_args()

    tasks = sides(options.only) * options.repeat
    with ThreadPoolExecutor(options.jobs) as pool:
        cases: list[Case] = []
        for case in pool.map(lambda task: run(*task), tasks):
            cases.append(case)
            print("\n".join(table.misses([case])) or ".", file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(_text(cases), encoding="utf-8")
    print(_text(cases))


def _text(cases: list[Case]) -> str:
    return "\n".join([table.HEAD, table.row("leakguard", cases), "", *table.misses(cases), ""])


if __name__ == "__main__":
    main()
