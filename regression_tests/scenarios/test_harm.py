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

# Quick ones of each kind; what has torch or many objects, and the other ways to watch, are heavy.
LIGHT = {
    "asyncio_loop-api",
    "collector_off-api",
    "cyclic_finalizers-api",
    "exit_order[error]-run",
    "few_descriptors-api",
    "hanging_up[SIGTERM]-run",
    "locals_dict-api",
    "no_more_processes-api",
    "open_descriptors-run",
    "recursion_limit-run",
    "replaced_functions-run",
    "shared_counts-api",
    "sigchld_handler-off",
    "signal_defaults-api",
    "signal_users-api",
    "strict_warnings-api",
    "subprocess_users-api",
    "trace_functions-run",
    "wait_for_any-api",
    "ways_to_run[--epochs,module]-run",
    "ways_to_run[--epochs,zip]-run",
    "weakref_callbacks-api",
}
# Harms that are known and not repaired: whoever repairs one takes it out of here.
STILL_HARMED = {
    "signal_defaults-api": "SIGTERM gets a handler in C, which ends the process as the default",
}
# What is allowed to memory in a test, whatever the program's own limits are.
MEMORY = Limit(2.0, 150)


WAYS = ("api", "run", "off")


def _case(program: Program, how: str) -> object:
    name = f"{program.name}-{how}"
    marks = [] if name in LIGHT else [pytest.mark.heavy]
    if name in STILL_HARMED:
        marks.append(pytest.mark.xfail(reason=STILL_HARMED[name]))
    return pytest.param(program, how, id=name, marks=marks)


CASES = {f"{each.name}-{how}": _case(each, how) for each in programs() for how in WAYS
         if how in (*each.how, "off")}  # fmt: skip


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("program", "how"), CASES.values())
def test_watched_program_does_what_it_does_alone(program: Program, how: str) -> None:
    (row,) = Laboratory(sys.executable).rows(program, [how])

    if row.skipped is not None:
        pytest.skip(row.skipped)
    assert row.harms == (), row.tail
    assert row.unwatched is not None
    assert row.watched is not None
    for size in ("peak_mb", "tree_mb"):
        assert MEMORY.allows(row.unwatched[size], row.watched[size]), size


def test_what_is_light_or_known_is_a_case() -> None:
    assert CASES.keys() >= LIGHT
    assert CASES.keys() >= STILL_HARMED.keys()
