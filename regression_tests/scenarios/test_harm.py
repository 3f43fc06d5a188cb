"""A watched program does what it does alone: the laboratory of harm, its light programs here.

``python -m regression_tests.benchmarks.harm`` plays all of them and writes a table of times, too.
"""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("psutil")
pytest.importorskip("packaging")

from regression_tests.benchmarks.harm.laboratory import Laboratory
from regression_tests.benchmarks.harm.program import Limit, Program, programs

if sys.platform != "linux":
    pytest.skip("the laboratory reads /proc", allow_module_level=True)

# Quick ones of every kind; what looks at torch's heap, or at a large one, is heavy here.
LIGHT = {
    "few_descriptors": "api",
}
# What is allowed to memory in a test, whatever the program's own limits are.
MEMORY = Limit(2.0, 150)


def _cases() -> list[object]:
    return [
        pytest.param(
            program,
            how,
            id=f"{program.name}-{how}",
            marks=[] if LIGHT.get(program.name) == how else pytest.mark.heavy,
        )
        for program in programs()
        for how in program.how
    ]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("program", "how"), _cases())
def test_watched_program_does_what_it_does_alone(program: Program, how: str) -> None:
    (row,) = Laboratory(sys.executable).rows(program, [how])

    if row.skipped is not None:
        pytest.skip(row.skipped)
    assert row.harms == (), row.tail
    assert row.unwatched is not None
    assert row.watched is not None
    for size in ("peak_mb", "tree_mb"):
        assert MEMORY.allows(row.unwatched[size], row.watched[size]), size


def test_light_programs_are_of_the_corpus() -> None:
    assert {program.name for program in programs()} >= LIGHT.keys()
