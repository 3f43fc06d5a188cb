"""A copy of a traced process reads the trace, and records nothing of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import leakguard
from regression_tests.benchmarks.attach.strangers import interpreters

PROGRAM = """
import sys, tracemalloc
from leakguard.launch.attach.kept_trace import keep_trace
if TRACED:
    tracemalloc.start(4)
kept = [bytearray(10_000) for _ in range(3)]
keep_trace()
before = tracemalloc.get_traced_memory()[0]
more = [bytearray(10_000) for _ in range(100)]
del more
print(tracemalloc.get_traced_memory()[0] - before, tracemalloc.get_object_traceback(kept[0]))
"""


@pytest.mark.parametrize("version", interpreters())
@pytest.mark.parametrize("traced", [True, False])
def test_what_was_traced_stays_and_no_more_is_recorded(version, traced):
    program = PROGRAM.replace("TRACED", str(traced))
    done = subprocess.run(
        [interpreters()[version], "-c", program],
        env={"PYTHONPATH": str(Path(leakguard.__file__).parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    more, _, place = done.stdout.partition(" ")
    assert int(more) == 0
    assert ("<string>" in place) == traced
