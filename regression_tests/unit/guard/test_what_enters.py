"""What enters a guard is checked once: a number, a name, an argument, or a note."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
from played_loops import played

import leakguard
from leakguard import LeakGuard


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "12", b"12", None, [1], object(), 10**400, 1j]
)
def test_gauge_that_is_no_finite_number_is_a_note_and_the_file_stays_readable(tmp_path, value):
    path = tmp_path / "run.jsonl"
    guard = LeakGuard(out=path, report=None)
    guard.gauge("odd", lambda: value)
    guard.gauge("fine", lambda: 7)
    played(guard)
    loaded = leakguard.load(path)
    assert loaded.notes == ()
    assert all("odd" not in s.gauges and "gauge odd" in s.unavailable for s in loaded.snapshots)
    assert loaded.snapshots[-1].gauges["fine"].value == 7


def test_gauge_of_a_numpy_integer_is_a_number():
    numpy = pytest.importorskip("numpy")
    guard = LeakGuard(report=None)
    guard.gauge("buffer", lambda: numpy.int64(5), capacity=numpy.float32(10))
    assert played(guard).run.snapshots[-1].gauges["buffer"].value == 5


def test_gauge_that_adds_gauges_does_not_end_the_look():
    guard = LeakGuard(report=None)
    guard.gauge("first", lambda: guard.gauge("second", lambda: 2) or 1)
    assert set(played(guard).run.snapshots[-1].gauges) == {"first", "second"}


def test_command_line_with_an_undecodable_byte_is_recorded(tmp_path):
    program = (
        "import sys\nfrom leakguard import LeakGuard\nLeakGuard(out=sys.argv[1]).start().stop()"
    )
    path = tmp_path / "run.jsonl"
    subprocess.run(
        [sys.executable, "-c", program, str(path), b"caf\xe9"], check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert "caf\\udce9" in leakguard.load(path).info.command


def test_secrets_of_the_command_line_are_not_recorded(tmp_path):
    program = (
        "import sys\nfrom leakguard import LeakGuard\nLeakGuard(out='run.jsonl').start().stop()"
    )
    arguments = ["--db-password", "p 4's", "--api-key=k1", "HF_TOKEN=h2", "s3://ada:u3@host/x"]
    subprocess.run(
        [sys.executable, "-c", program, *arguments, "--lr", "0.1"], check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    said = "--db-password *** --api-key=*** HF_TOKEN=*** s3://***@host/x --lr 0.1"
    command = leakguard.load(tmp_path / "run.jsonl").info.command
    assert command.replace("'", "").endswith(said)


def test_labels_that_no_file_can_hold_are_written_as_escapes(tmp_path):
    path = tmp_path / "run.jsonl"
    with LeakGuard(out=path, report=None) as guard, guard.phase("bad \udce9\n\x00 name"):
        guard.snapshot("x" * 5_000)
    labels = [s.label for s in leakguard.load(path).snapshots]
    assert max(map(len, labels)) <= 220
    assert any("\\udce9" in label for label in labels)


def test_equality_of_a_metaclass_is_not_asked_by_a_promise():
    class Hostile(type):
        def __eq__(cls, other):
            raise AssertionError("asked")

        __hash__ = type.__hash__

    class Thing(metaclass=Hostile):
        pass

    with LeakGuard(report=None) as guard:
        for _ in guard.generations(range(2)):
            guard.expect_freed(Thing(), "dropped")
            guard.expect_freed([Thing()], "dropped")
    assert all("expect_freed" not in snapshot.unavailable for snapshot in guard.run.snapshots)
    assert [e.alive for s in guard.run.snapshots for e in s.expectations] == [0] * 4
