"""Looks in a copy of the process tell what looks here would, and cannot hurt what they look at."""

from __future__ import annotations

import ctypes
import os
import random
import sys
import time

import pytest

from leakguard import LeakGuard, diagnose, load
from leakguard.capture import heap
from leakguard.capture.heap import ENGINE
from leakguard.live.copier import VARIABLE, Copier
from leakguard.live.schedule import Schedule

pytestmark = pytest.mark.skipif(
    ENGINE != "compiled" or not sys.platform.startswith("linux"),
    reason="processes are copied by the compiled scan, on Linux",
)
ROUNDS = 14  # a loop of twelve is short: all its looks are taken in the process
PATIENCE = 120.0  # seconds
NUMBERS = {"rss_anonymous": 1_000_000_000, "python_blocks": 3_000_000}


class Kept:
    """What leaks."""


kept: list[Kept] = []
large: list[bytes] = []


@pytest.fixture(autouse=True)
def _copies(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr("leakguard.live.copier._GRACE", PATIENCE)  # the machine may be busy
    monkeypatch.setattr("leakguard.live.taken_looks._COPY_PATIENCE", PATIENCE)
    kept.clear()
    yield
    kept.clear()


def _played(out, *, leaks=True, waits=True):
    """Run a loop; return the run, and what the program worked out meanwhile."""
    chance, results = random.Random(7), []
    guard = LeakGuard(out=out, report=None, max_overhead=None, trace="off")
    with guard:
        for _ in guard.generations(range(1, ROUNDS + 1)):
            if leaks:
                kept.extend(Kept() for _ in range(50))
            results.append((chance.random(), len(kept)))
            while guard._watcher.looks.under_way is not None and waits:
                guard._watcher.looks.settle(wait=True)
    return guard, results


def _undisturbed():
    chance = random.Random(7)
    return [(chance.random(), 50 * done) for done in range(1, ROUNDS + 1)]


def test_leak_is_found_and_named_by_looks_in_copies(tmp_path):
    guard, _ = _played(tmp_path / "run.jsonl")

    report = guard.report()
    copied = [s for s in guard.run.snapshots if s.cost.copied is not None]

    assert report.verdict == "leak"
    assert any(f.held_by and f.held_by.endswith("kept[*]") for f in report.findings)
    assert len(copied) >= ROUNDS // 2
    assert any(s.holders for s in copied)


def test_calm_loop_stays_calm_in_copies(tmp_path):
    guard, _ = _played(tmp_path / "run.jsonl", leaks=False)

    assert guard.report().verdict == "stable"


def test_snapshots_keep_their_order_while_a_look_is_under_way(tmp_path):
    guard, _ = _played(tmp_path / "run.jsonl", waits=False)

    snapshots = guard.run.snapshots
    ends = [s.generation for s in snapshots if s.moment == "generation"]

    assert ends == list(range(1, ROUNDS + 1))
    assert [s.serial for s in snapshots] == list(range(len(snapshots)))
    assert [s.seconds for s in snapshots] == sorted(s.seconds for s in snapshots)


def _crash():
    ctypes.string_at(0)


def _hang():
    os.kill(os.getpid(), 14)  # as the alarm would, without the wait


def _no_memory():
    raise MemoryError


@pytest.mark.parametrize("fault", [_crash, _hang, _no_memory])
def test_fault_in_the_look_is_a_note_and_changes_no_result(tmp_path, monkeypatch, fault):
    home, census = os.getpid(), heap.census

    def faulty(*args):
        if os.getpid() != home:
            fault()
        return census(*args)

    monkeypatch.setattr(heap, "census", faulty)
    guard, results = _played(tmp_path / "run.jsonl")

    notes = [s.unavailable["copy"] for s in guard.run.snapshots if "copy" in s.unavailable]
    assert results == _undisturbed()
    assert notes
    assert all("came to nothing" in note for note in notes)


def test_process_is_not_looked_at_after_looks_that_crashed_their_copies(tmp_path, monkeypatch):
    home, census, here = os.getpid(), heap.census, []

    def faulty(*args):
        if os.getpid() != home:
            ctypes.string_at(0)
        here.append(1)
        return census(*args)

    monkeypatch.setattr(heap, "census", faulty)
    guard, _ = _played(tmp_path / "run.jsonl")

    assert len(here) <= 1  # the one before the loop
    assert guard.run.snapshots[-1].census is None


def test_copy_is_chosen_where_objects_are_many_and_not_where_memory_is(monkeypatch):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr("leakguard.live.copier.cores", lambda: 4.0)
    monkeypatch.setattr("leakguard.live.copier.is_busy", lambda: False)
    monkeypatch.setattr("leakguard.live.copier.free_memory", lambda: 10**12)
    monkeypatch.setattr("leakguard.live.copier.small_page_bytes", lambda: 30_000_000_000)

    assert Copier().wise(0.5, NUMBERS)
    assert not Copier().wise(0.01, NUMBERS)
    assert not Copier().wise(0.5, {**NUMBERS, "rss_anonymous": 30_000_000_000})


@pytest.mark.parametrize(
    ("name", "value"),
    [("cores", 1.0), ("is_busy", True), ("free_memory", 10_000_000)],
)
def test_copy_needs_a_core_and_room(monkeypatch, name, value):
    monkeypatch.delenv(VARIABLE)
    facts = {"cores": 4.0, "is_busy": False, "free_memory": 10**12, name: value}
    for fact, told in facts.items():
        monkeypatch.setattr(f"leakguard.live.copier.{fact}", lambda told=told: told)

    assert not Copier().wise(0.5, NUMBERS)


def test_proof_at_the_end_of_a_run_is_told_with_its_finding(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0")
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


def test_waiting_for_a_copy_at_a_mark_is_charged(tmp_path, monkeypatch):
    home, census, stalls = os.getpid(), heap.census, 0.2

    def slow(*args):
        if os.getpid() != home:
            time.sleep(stalls)
        return census(*args)

    monkeypatch.setattr(heap, "census", slow)
    charged = []
    monkeypatch.setattr(Schedule, "waited", lambda _, seconds: charged.append(seconds))
    guard = LeakGuard(out=tmp_path / "run.jsonl", report=None, max_overhead=None, trace="off")
    with guard:
        for _ in guard.generations(range(1, ROUNDS + 1)):
            guard.snapshot("here")

    assert sum(charged) > stalls / 2
