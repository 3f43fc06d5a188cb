"""Run one program under one tool, in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from leakguard import LeakGuard
from regression_tests.benchmarks.leakbench import programs
from regression_tests.benchmarks.leakbench.program import PROGRAMS

assert programs


def main(name: str, leak: str, out: str) -> None:
    """Run the program and leave the guard's run in the folder ``out``."""
    program = PROGRAMS[name]
    with LeakGuard(out=Path(out) / "run.jsonl", max_overhead=None) as guard:
        program.main(guard, *(() if program.truth is None else (leak == "leak",)))


if __name__ == "__main__":
    main(*sys.argv[1:4])
    sys.stdout.flush()
    os._exit(0)  # threads that a program left waiting do not hold it up
