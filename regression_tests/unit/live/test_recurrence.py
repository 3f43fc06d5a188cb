"""A loop that names phases only has generations all the same; one that names them has its own."""

from __future__ import annotations

import threading

from leakguard import LeakGuard, diagnose
from leakguard.live.round import Recurrence

KEPT: list[bytearray] = []


class Row(bytearray):
    pass


def generations_of(guard):
    return [s.generation for s in guard.run.snapshots if s.moment == "generation"]


def test_a_generation_begins_with_the_phase_that_comes_first_again():
    guard = LeakGuard(report=None)
    with guard:
        with guard.phase("load"):
            pass
        for episode in range(5):
            with guard.phase(f"rollout {episode}"), guard.phase("step"):
                pass
            with guard.phase("train"):
                pass
    assert generations_of(guard) == [1, 2, 3, 4]
    assert any("each 'rollout *'" in note for note in diagnose(guard.run).limits)


def test_a_leak_in_a_loop_without_generations_is_found_with_its_phase():
    guard = LeakGuard(report=None, max_overhead=None)
    with guard:
        for _ in range(10):
            with guard.phase("rollout"):
                sum(range(1000))
            with guard.phase("train"):
                KEPT.append(Row(30_000))
    report = diagnose(guard.run)
    assert report.verdict == "leak"
    assert report.findings[0].phase == "train"
    assert report.findings[0].type == f"{__name__}.Row"
    KEPT.clear()


def test_generations_that_the_program_names_end_those_that_were_found():
    guard = LeakGuard(report=None)
    with guard:
        for _ in range(3):
            with guard.phase("warm up"):
                pass
        for _ in guard.generations(range(101, 105)):
            for _ in range(3):
                with guard.phase("train"):
                    pass
    assert generations_of(guard) == [1, 2, 101, 102, 103, 104]


def test_phases_that_never_recur_make_no_generations_and_the_report_says_how():
    guard = LeakGuard(report=None)
    with guard:
        for name in ("load", "train", "save"):
            with guard.phase(name):
                pass
    assert generations_of(guard) == []
    assert "guard.generations(" in diagnose(guard.run).headline


def test_phases_of_other_threads_begin_no_generation():
    found = Recurrence()
    assert not found.begins("train")
    told: list[bool] = []
    thread = threading.Thread(target=lambda: told.append(found.begins("train")))
    thread.start()
    thread.join()
    assert told == [False]
    assert found.begins("train")


def test_a_leak_between_moments_that_are_recorded_again_and_again_is_found():
    guard = LeakGuard(report=None, max_overhead=None)
    with guard:
        for step in range(0, 1_000, 100):
            KEPT.append(Row(30_000))
            guard.snapshot(f"step {step}")
    KEPT.clear()
    report = diagnose(guard.run)
    assert generations_of(guard) == list(range(1, 9))  # nothing ends the stretch after the last
    assert (report.verdict, report.findings[0].type) == ("leak", f"{__name__}.Row")


def test_a_loop_that_records_moments_and_keeps_nothing_is_stable():
    guard = LeakGuard(report=None, max_overhead=None)
    with guard:
        for step in range(0, 1_000, 100):
            Row(30_000)
            guard.snapshot(f"step {step}")
    assert diagnose(guard.run).verdict == "stable"


def test_moments_of_different_names_begin_no_generation():
    guard = LeakGuard(report=None)
    with guard:
        for name in ("loaded", "compiled", "trained", "saved"):
            guard.snapshot(name)
    assert generations_of(guard) == []


def test_phases_tell_more_than_moments():
    guard = LeakGuard(report=None)
    with guard:
        for _ in range(4):
            with guard.phase("rollout"):
                guard.snapshot("inside 1")
            guard.snapshot("half way")
            with guard.phase("train"):
                pass
            guard.snapshot("all of it")
    assert generations_of(guard) == [1, 2, 3]
    assert any("each 'rollout'" in note for note in diagnose(guard.run).limits)
