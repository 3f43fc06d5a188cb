"""Looks in a copy of the process tell what grows, and cannot hurt what they look at."""

from __future__ import annotations

import ctypes
import os
import random
import sys

import pytest

from leakguard import LeakGuard, diagnose, load
from leakguard.capture.heap import ENGINE, apart, engine
from leakguard.capture.heap.apart import VARIABLE, Apart
from leakguard.capture.heap.process_copy import is_copy

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)
ROUNDS = 8


class Kept:
    """What leaks."""


kept: list[Kept] = []
large: list[bytes] = []


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr("leakguard.capture.heap.looks", Apart())
    kept.clear()
    yield
    kept.clear()


def _played(*, leaks=True):
    """Run a loop; return the guard, and what the program worked out meanwhile."""
    chance, results = random.Random(7), []
    guard = LeakGuard(report=None, max_overhead=None, trace="off")
    with guard:
        for _ in guard.generations(range(1, ROUNDS + 1)):
            if leaks:
                kept.extend(Kept() for _ in range(50))
            results.append((chance.random(), len(kept)))
    return guard, results


def _undisturbed():
    chance = random.Random(7)
    return [(chance.random(), 50 * done) for done in range(1, ROUNDS + 1)]


def test_leak_is_found_and_named():
    guard, _ = _played()

    report = guard.report()

    assert report.verdict == "leak"
    assert any(f.held_by and f.held_by.endswith("kept[*]") for f in report.findings)


def test_calm_loop_stays_calm():
    guard, _ = _played(leaks=False)

    assert guard.report().verdict == "stable"


def _crash():
    ctypes.string_at(0)


def _hang():
    os.kill(os.getpid(), 14)  # as the alarm would, without the wait


def _no_memory():
    raise MemoryError


@pytest.mark.parametrize("fault", [_crash, _hang, _no_memory])
def test_fault_in_the_look_is_a_note_and_changes_no_result(monkeypatch, fault):
    tally = engine.tally

    def faulty(*args):
        if is_copy():
            fault()
        return tally(*args)

    monkeypatch.setattr(engine, "tally", faulty)
    guard, results = _played()

    notes = [s.unavailable["census"] for s in guard.run.snapshots if "census" in s.unavailable]
    assert results == _undisturbed()
    assert notes
    assert all("failed" in note or "would end this process" in note for note in notes)


def test_looks_beside_a_thread_that_cannot_be_copied_are_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(apart, "_hindrance", lambda: "it is forbidden here")
    monkeypatch.setattr(apart, "other_threads_run", lambda: True)

    guard, _ = _played(leaks=False)

    assert guard.run.snapshots[-1].census is None
    assert any("it is forbidden here" in s.unavailable["census"] for s in guard.run.snapshots)
    assert guard.report().verdict != "leak"


def test_proof_at_the_end_of_a_run_is_told_with_its_finding(tmp_path):
    guard = LeakGuard(out=tmp_path / "run.jsonl", report=None, trace="off", prove=True)
    with guard:
        for _ in guard.generations(range(1, 8)):
            large.extend(bytes(100_000) for _ in range(10))
    leaked = sum(map(len, large))
    large.clear()

    finding = load(tmp_path / "run.jsonl").snapshots[-1].proofs[0]
    told = diagnose(load(tmp_path / "run.jsonl")).findings[0].proof

    assert told == finding
    assert told.held_by.endswith("large[*]")
    assert told.released == pytest.approx(leaked, rel=0.05)


def test_run_without_a_leak_has_nothing_to_prove(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
    guard = LeakGuard(out=tmp_path / "run.jsonl", report=None, trace="off", prove=True)
    with guard:
        for _ in guard.generations(range(1, 8)):
            bytes(100_000)

    assert all(not snapshot.proofs for snapshot in load(tmp_path / "run.jsonl").snapshots)
