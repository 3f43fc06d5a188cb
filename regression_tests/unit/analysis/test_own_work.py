"""What looks leave in memory is told apart from what the program takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Census, Cost, PhaseTotal, Run, RunInfo, Snapshot
from leakguard.model.units import KB, MB

LOOKS = (1, 2, 3, 4, 7, 11, 14, 19, 25, 30, 39, 48)


def told(
    leak: int, own: dict[int, int], generations: int = 60, between: int = 0, size: int = 20 * MB
) -> Run:
    """Tell a run that loses ``leak`` bytes a generation, and whose guard keeps ``own`` after looks.

    ``between`` is what the program itself takes between two generations, ``size`` what it has.
    """
    shots = []
    for generation in range(1, generations + 1):
        entry = _metrics(size)
        size += leak
        shots.append(
            Snapshot(
                generation,
                f"g{generation}",
                "generation",
                generation=generation,
                metrics=_metrics(size),
                entry=entry,
                phases={"work": PhaseTotal(1, 0.05, {"heap_in_use": leak, "rss": leak})},
                cost=Cost(0.01, 1 if generation in LOOKS or generation in own else 0),
            )
        )
        size += own.get(generation, 0) + between
    return Run(RunInfo(), tuple(shots), finished=True)


def _metrics(size: int) -> dict[str, int]:
    return {"rss": 50 * MB + size, "heap_in_use": size, "rss_anonymous": 30 * MB + size}


STEPS = {14: 3 * MB, 19: 700 * KB, 39: 1_500 * KB, 48: 1_300 * KB}


@pytest.mark.parametrize("own", [STEPS, dict.fromkeys(range(1, 60, 5), 300 * KB)])
def test_steps_that_looks_leave_are_no_growth_of_the_program(own):
    assert diagnose(told(0, own)).verdict == "stable"


def test_leak_is_seen_between_them_also_where_a_look_came_long_after_the_last_end_on_record():
    run = told(20 * KB, STEPS)
    last = run.snapshots[-1]
    look = replace(last, serial=last.serial + 1, moment="end", generation=75, census=Census())
    (finding,) = diagnose(replace(run, snapshots=(*run.snapshots, look))).findings
    assert 19 * KB < finding.bytes_per_generation < 21 * KB


def test_leak_is_seen_between_the_steps_that_looks_leave():
    (finding,) = diagnose(told(70 * KB, STEPS)).findings
    assert (finding.verdict, finding.started_at, finding.phase) == ("leak", 1, "work")
    assert 65 * KB < finding.bytes_per_generation < 75 * KB


def test_what_the_program_takes_between_generations_is_not_taken_for_the_guard_s():
    (finding,) = diagnose(told(0, {}, between=200 * KB)).findings
    assert finding.verdict == "leak"
    assert 190 * KB < finding.bytes_per_generation < 210 * KB


def passing_over(run: Run, every: int) -> Run:
    """Return a run in which most generations after the first dozen were not measured."""
    kept, passed = [], 0
    for shot in run.snapshots:
        if (shot.generation or 0) <= 12 or (shot.generation or 0) % every == 0:
            kept.append(replace(shot, passed=passed or None))
            passed = 0
        else:
            passed += 1
    return replace(run, snapshots=tuple(kept))


@pytest.mark.parametrize("own", [{}, {15: 3 * MB, 25: 700 * KB, 40: 500 * KB}])
def test_growth_of_generations_passed_over_after_a_look_is_not_taken_for_the_guard_s(own):
    run = passing_over(told(70 * KB, own), 5)
    (finding,) = diagnose(run).findings
    assert (finding.verdict, finding.started_at) == ("leak", 1)
    assert 65 * KB < finding.bytes_per_generation < 75 * KB
    assert diagnose(passing_over(told(0, own), 5)).verdict == "stable"


def test_what_a_look_gives_back_does_not_bend_the_growth():
    given_back = STEPS | {19: -700 * KB, 39: -2 * MB}
    (finding,) = diagnose(told(70 * KB, given_back)).findings
    assert (finding.verdict, finding.started_at) == ("leak", 1)
    assert 65 * KB < finding.bytes_per_generation < 75 * KB


def test_leak_of_a_large_process_is_told_in_a_short_run_that_is_looked_at_throughout():
    (finding,) = diagnose(told(500 * KB, {}, generations=6, size=2_000 * MB)).findings
    assert (finding.verdict, finding.phase) == ("leak", "work")
