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
