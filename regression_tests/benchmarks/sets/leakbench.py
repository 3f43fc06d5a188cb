"""LeakBench's short programs and its temporal ones, each under the guard as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.leakbench.program import PROGRAMS, Program, open_set
from regression_tests.benchmarks.leakbench.program import SETS as GROUPS
from regression_tests.benchmarks.playing.entry import Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest

_PLAYER = ("-m", "regression_tests.benchmarks.leakbench.child")


def _entries(group: str) -> Iterator[Entry]:
    open_set(group)
    for program in [p for p in PROGRAMS.values() if f".{group}." in p.main.__module__]:
        for side in ("leak", "clean") if program.truths else ("clean",):
            yield Entry(
                f"leakbench_{group}",
                f"{program.name}-{side}",
                program.file,
                program.truths if side == "leak" else (),
                partial(python, *_PLAYER, "leakguard", group, program.name, side, "."),
                written=("run.jsonl",),
            )


def entry_of(group: str, program: Program, leak: bool, tool: str, repetition: int) -> Entry:
    """Return one side of a program under a tool, which leaves what it says in a folder."""
    side = "leak" if leak else "clean"
    return Entry(
        tool,
        f"{program.name}-{side}-{repetition}",
        program.file,
        program.truths if leak else (),
        partial(python, *_PLAYER, tool, group, program.name, side, "said"),
        written=("said",),
    )


_ASKED = ("type", "holder", "phase", "start", "size")
SETS = tuple(
    Manifest(f"leakbench_{group}", partial(_entries, group), "LeakBench, under the guard.", _ASKED)
    for group in GROUPS
)
