"""Trainings with frameworks, healthy and with a mistake each, through the integrations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from regression_tests.benchmarks.frameworks.table import CASES, GENERATIONS, IMPORTS, PROGRAMS, Case
from regression_tests.benchmarks.leakbench.program import Truth
from regression_tests.benchmarks.playing.entry import STEM, Entry, python
from regression_tests.benchmarks.playing.manifest import Manifest

_KINDS = ("autograd", "tensors", "arrays", "instances", "container")


def _entries() -> Iterator[Entry]:
    for case in CASES:
        yield Entry(
            "frameworks",
            case.name,
            str(PROGRAMS / f"{case.program}.py"),
            (_truth(case),) if case.holder else (),
            partial(python, "-m", _module(case), case.mistake),
            {"OUT": STEM, "ALGORITHM": case.algorithm, "TOOL": "leakguard",
             "GENERATIONS": str(GENERATIONS["leakguard"])},
            needs=tuple({name.partition(".")[0] for name in IMPORTS[case.program]}),
        )  # fmt: skip


def _module(case: Case) -> str:
    return f"regression_tests.benchmarks.frameworks.programs.{case.program}"


def _truth(case: Case) -> Truth:
    holder = re.sub(r"\\", "", case.holder)
    return Truth(
        tuple(phase for phase in case.phases if phase is not None),
        holder=(holder,),
        start=None,
        kind=_KINDS,
        lines=tuple(sorted(case.lines())),
    )


SETS = (
    Manifest(
        "frameworks",
        _entries,
        "Trainings with frameworks, healthy and with a mistake each, through the integrations.",
        ("holder", "line", "phase"),
    ),
)
