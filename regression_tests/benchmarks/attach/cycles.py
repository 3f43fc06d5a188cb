"""Attach and leave, many times, on one process: what has it more of afterwards?"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from leakguard.launch.attach.attachment import attached_to
from regression_tests.benchmarks.attach.strangers import running

# One cycle in so many also records births, and takes looks.
_LOOKS = 10


@dataclass(frozen=True, slots=True)
class Counts:
    """What the process says that it has, after so many cycles."""

    cycles: int
    modules: int
    threads: int
    files: int
    blocks: int
    resident: int
    names: int


def cycled(python: str, most: int) -> Iterator[Counts]:
    """Yield what a process has before the first cycle, after 1, 10, 100 ..., and at the end."""
    with running("counts", python=python) as process:
        yield _counts(process, 0)
        told = {10**power for power in range(6)} | {most}
        for cycle in range(1, most + 1):
            with attached_to(process.pid, 30.0) as session:
                if cycle == 1 or not cycle % _LOOKS:
                    session.ask("facts", dict)
                    if (problem := session.record_births()) is not None:
                        raise RuntimeError(problem)
                    session.begin_round(0)
                    session.ask("births", dict, rounds=1)
            if cycle in told:
                time.sleep(0.5)
                yield _counts(process, cycle)


def _counts(process: subprocess.Popen[str], cycles: int) -> Counts:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return Counts(cycles, *map(int, process.stdout.readline().split()))
