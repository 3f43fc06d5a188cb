"""What a program lets go of when its loop is over says nothing about what the loop keeps."""

from __future__ import annotations

import itertools

import pytest

from leakguard import LeakGuard, diagnose, load, phase
from leakguard.testing import FakeClock

ROUNDS = 12
SIZE = 200_000  # bytes


class Kept:
    """Something of a size that memory shows."""

    def __init__(self):
        self.values = bytearray(SIZE)


@phase("work")
def step(kept, leaks):
    made = Kept()
    if leaks:
        kept.append(made)
    else:
        kept[:] = [made]


def calls(guard, leaks):
    kept = []
    for _ in range(ROUNDS):
        guard.generation()
        step(kept, leaks)


def unknown_length(guard, leaks):
    kept = []
    for _ in guard.generations(iter(range(ROUNDS))):
        step(kept, leaks)


def left_by_break(guard, leaks):
    kept = []
    for round_ in guard.generations(itertools.count(1)):
        step(kept, leaks)
        if round_ == ROUNDS:
            break


def phases_only(guard, leaks):
    kept = []
    for _ in range(ROUNDS):
        step(kept, leaks)


LOOPS = (
    *(pytest.param(loop, marks=pytest.mark.heavy) for loop in (calls, left_by_break)),
    *(unknown_length, phases_only),
)


def watched(tmp_path, loop, leaks):
    """Return the run of a guard whose ``with`` ends after the loop's function has returned."""
    guard = LeakGuard(out=tmp_path / "run.jsonl", report=None, trace="off", clock=FakeClock())
    with guard:
        loop(guard, leaks)
    return load(tmp_path / "run.jsonl")


@pytest.mark.parametrize("loop", LOOPS)
def test_leak_in_a_local_of_a_function_that_has_returned_is_told(tmp_path, loop):
    report = diagnose(watched(tmp_path, loop, leaks=True))
    told = {finding.type: finding for finding in report.findings}
    assert report.verdict == "leak"
    assert told[f"{__name__}.Kept"].held_by.startswith("local kept in")
    # What is let go of after the loop would be a whole object less for each generation; a few kB of
    # what other tests have left in the process may go meanwhile.
    assert min(report.phase_growth.values()) > -SIZE / 2


@pytest.mark.parametrize("loop", LOOPS)
def test_same_loops_that_keep_the_last_one_stay_silent(tmp_path, loop):
    assert diagnose(watched(tmp_path, loop, leaks=False)).verdict == "stable"


def test_generation_that_a_call_began_in_a_running_function_ends_with_the_run(tmp_path):
    guard = LeakGuard(out=tmp_path / "run.jsonl", report=None, trace="off")
    kept = []
    with guard:
        for _ in range(4):
            guard.generation()
            step(kept, True)
    ends = [s for s in load(tmp_path / "run.jsonl").snapshots if s.moment == "generation"]
    assert [end.generation for end in ends] == [1, 2, 3, 4]
