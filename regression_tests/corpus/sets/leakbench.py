"""LeakBench's short programs and its temporal ones, each under the guard as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.leakbench.program import PROGRAMS, SETS, open_set
from regression_tests.corpus.entry import Entry, python

_PLAYER = ("-m", "regression_tests.benchmarks.leakbench.child", "leakguard")


def entries() -> Iterator[Entry]:
    """Yield each side of each program."""
    for group in SETS:
        open_set(group)
        for program in [p for p in PROGRAMS.values() if f".{group}." in p.main.__module__]:
            for side in ("leak", "clean") if program.truths else ("clean",):
                yield Entry(
                    f"leakbench_{group}",
                    f"{program.name}-{side}",
                    program.file,
                    program.truths if side == "leak" else (),
                    partial(python, *_PLAYER, group, program.name, side, "."),
                    written=("run.jsonl",),
                )
