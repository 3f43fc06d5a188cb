"""Generations that were recorded as one, more and more of them: what is judged lies evenly."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.analysis.spacing import evenly_spaced
from leakguard.model import Census, Cost, PhaseTotal, Run, RunInfo, Snapshot

MB = 1_000_000


def run_of(memory, sizes=((64, 1), (64, 2), (64, 4), (200, 8)), looks=()):
    """Tell a run whose generations became larger; ``memory`` gives bytes by number."""
    number, shots = 0, []
    for count, taken in sizes:
        for _ in range(count):
            before, number = number, number + taken
            gained = memory(number) - memory(before)
            shots.append(
                Snapshot(
                    len(shots),
                    f"Gen {number}: End of generation",
                    "generation",
                    None,
                    number,
                    float(number),
                    metrics=metrics(memory(number)),
                    entry=metrics(memory(before)),
                    phases={"work": PhaseTotal(1, 1.0, metrics(gained))},
                    census=Census({}) if number in looks else None,
                    taken=None if taken == 1 else taken,
                )
            )
    return Run(RunInfo(), tuple(shots))


def metrics(size):
    return {"rss": size, "rss_anonymous": size, "heap_in_use": size, "heap_held": 0}


def test_generations_lie_evenly_and_looks_stay():
    run = run_of(lambda number: MB, looks=(3, 66))
    numbers = evenly_spaced(run).generations
    assert {3, 66} <= set(numbers)
    assert {b - a for a, b in itertools.pairwise(numbers[20:])} == {8}
    assert numbers[-1] == run.generations[-1]


def test_generation_that_was_traced_stays():
    run = run_of(lambda number: MB)
    shots = (
        replace(s, cost=Cost(slowdown=2.0, cut=True)) if s.generation == 33 else s
        for s in run.snapshots
    )
    assert 33 not in evenly_spaced(run).generations
    assert 33 in evenly_spaced(replace(run, snapshots=tuple(shots))).generations


def test_a_run_with_few_large_generations_keeps_the_small_ones():
    run = run_of(lambda number: MB, sizes=((64, 1), (64, 2), (3, 4)))
    assert len(evenly_spaced(run).generations) >= 48


def test_a_run_that_was_recorded_one_by_one_stays_as_it_is():
    run = run_of(lambda number: MB, sizes=((500, 1),))
    assert evenly_spaced(run) is run


@pytest.mark.parametrize("sizes", [((40, 1),), ((64, 1), (64, 2)), ((64, 1), (64, 2), (90, 4))])
def test_a_leak_has_the_same_rate_whatever_was_recorded_as_one(sizes):
    report = diagnose(run_of(lambda number: 100 * MB + number * MB, sizes))
    assert report.findings[0].bytes_per_generation == pytest.approx(MB, rel=0.01)
    assert report.phase_growth["work"] == pytest.approx(MB, rel=0.01)


def test_what_warms_up_is_no_leak_however_densely_its_beginning_was_recorded():
    report = diagnose(run_of(lambda number: int(100 * MB * (2 - math.exp(-number / 100)))))
    assert report.verdict == "stable"


def test_generations_are_counted_though_several_are_one_record():
    run = run_of(lambda number: MB)
    assert run.generations_until(None) == run.generations[-1] == 64 + 128 + 256 + 1600
    assert run_of(lambda number: MB, sizes=((10, 1),)).generations_until(4) == 4
