"""Births of a process that knows nothing of leakguard, sampled while it is attached to."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from leakguard import load
from leakguard.capture.births import birth_record
from leakguard.capture.probe import Unavailable
from leakguard.launch.attach.attachment import attached_to
from leakguard.launch.attach.foreign_memory import mappings
from leakguard.model import Births
from regression_tests.benchmarks.attach.strangers import interpreters, running
from regression_tests.integration.test_attach import QUICK, WHY_NOT, attach

pytestmark = [
    pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT)),
    pytest.mark.skipif(birth_record._births is None, reason="the compiled part is not here"),
]


def loaded(pid: int) -> set[str]:
    """Return the files of the compiled part that a process has mapped."""
    return {each.path for each in mappings(pid) if "/_births." in each.path}


def born(session, rounds: int) -> Births:
    return session.ask("births", Births, rounds=rounds)


def _has_births(session, seconds: float) -> bool:
    """Wait until births were sampled; a busy machine may not run the process for a while."""
    until = time.monotonic() + seconds
    while not (found := born(session, 1).samples) and time.monotonic() < until:
        time.sleep(0.2)
    return found > 0


def test_line_is_told_though_nothing_is_traced(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("leakguard.launch.attach.attachment.Attachment.trace", None)
    with running("loop", "leak") as process:
        report = attach(process.pid, tmp_path, *QUICK)
        assert process.poll() is None
    assert report.verdict == "leak"
    assert "made at loop.py:17 in handle" in capsys.readouterr().out
    run = load(tmp_path / f"{process.pid}.jsonl")
    assert any(snapshot.births is not None for snapshot in run.snapshots)


def test_what_each_round_left_is_told_apart_and_what_was_freed_is_gone():
    with running("loop", "leak") as process, attached_to(process.pid, 20) as session:
        assert session.record_births() is None
        for number in range(3):
            assert session.begin_round(number) == (None, None)
            time.sleep(0.5)
        kept = {place.place: place for place in born(session, 3).places}["loop.py:17"]
    assert {cohort.round for cohort in kept.cohorts} >= {0, 1, 2}
    with running("loop", "calm") as process, attached_to(process.pid, 20) as session:
        assert session.record_births() is None
        session.begin_round(0)
        time.sleep(1.0)
        session.begin_round(1)
        time.sleep(0.2)
        old = [cohort for place in born(session, 2).places for cohort in place.cohorts]
    assert sum(cohort.bytes for cohort in old if cohort.round == 0) < 20_000


def test_record_ends_when_the_process_is_left_and_the_next_one_loads_nothing_more():
    with running("loop", "leak") as process:
        for _ in range(3):
            with attached_to(process.pid, 20) as session:
                assert session.record_births() is None
                session.begin_round(0)
                assert _has_births(session, 60)
            assert len(loaded(process.pid)) == 1
        assert process.poll() is None


ENDS = """
import os, sys, threading, time

def work():
    kept = []
    while True:
        kept.append([bytes(400) for _ in range(50)])
        if len(kept) > 200:
            kept.clear()
            time.sleep(0.001)

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
"""


def test_program_may_end_while_its_births_are_recorded(tmp_path):
    end = tmp_path / "end"
    with subprocess.Popen([sys.executable, "-c", ENDS, end]) as process:
        time.sleep(0.5)
        with attached_to(process.pid, 20) as session:
            assert session.record_births() is None
            session.begin_round(0)
            end.touch()
            assert process.wait(timeout=60) == 0


def test_copy_that_crashes_in_the_rehearsal_keeps_the_process_as_it_was(monkeypatch):
    def crash(*_: object, **__: object) -> str:
        raise Unavailable("a look crashed in a copy of the process")

    with running("loop", "leak") as process, attached_to(process.pid, 20) as session:
        with monkeypatch.context() as patched:
            patched.setattr(session, "ask", crash)
            assert session.record_births() == "a look crashed in a copy of the process"
        assert session.begin_round(0)[0] == "the record does not run in this process"


@pytest.mark.parametrize("version", [v for v in interpreters() if v != "system"])
def test_python_without_a_compiled_part_has_the_reason_in_its_run(version, tmp_path):
    python = interpreters()[version]
    if python == sys.executable:
        pytest.skip("its part is here")
    with running("loop", "leak", python=python) as process:
        attach(process.pid, tmp_path, "--every", "0.2", "--looks", "2")
        assert not loaded(process.pid)
    run = load(tmp_path / f"{process.pid}.jsonl")
    reasons = {snapshot.unavailable.get("births") for snapshot in run.snapshots}
    assert f"leakguard here has no compiled part for Python {version}" in reasons


def test_births_that_are_not_wanted_are_not_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAKGUARD_BIRTHS", "0")
    with running("loop", "leak") as process:
        attach(process.pid, tmp_path, "--every", "0.2", "--looks", "2")
        assert not loaded(process.pid)
