"""Play one side of a program of this set under a guard, in a process of its own."""

from __future__ import annotations

import sys

import leakguard
from regression_tests.benchmarks.silence import plain, tensors

PROGRAMS = {program.name: program for program in (*plain.PROGRAMS, *tensors.PROGRAMS)}


def main(name: str, side: str, out: str) -> None:
    """Play the program of that name into a run file."""
    program = PROGRAMS[name]
    with leakguard.LeakGuard(out=out) as guard:
        for step in program.make(side == "leak"):
            for number in guard.generations(range(program.rounds)):
                with guard.phase("round"):
                    step(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
