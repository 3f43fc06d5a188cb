"""Rounds of births and generations, in files of both kinds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis.birth_rounds import BirthRounds
from leakguard.model import Births, Run, Snapshot
from leakguard.model.run import RunInfo

NUMBERS = (1, 2, 5, 12)  # of the generations that were recorded


def told(births: Births | None = None, left_out: int = 0) -> Run:
    """Tell a run whose generations between the recorded ones were passed over."""
    before = (0, *NUMBERS)
    shots = [
        Snapshot(
            serial,
            f"Gen {number}",
            "generation",
            generation=number,
            passed=(number - before[serial] - 1) or None,
            births=births if number == NUMBERS[-1] else None,
        )
        for serial, number in enumerate(NUMBERS)
    ]
    return Run(RunInfo(source="guard"), tuple(shots), left_out=left_out)


EACH = Births(1.0, 0.0, 1.0, 1.0, generations=12)


def test_each_generation_is_a_round():
    rounds = BirthRounds(told(EACH))
    assert [rounds.until(number) for number in (*NUMBERS, None)] == [1, 2, 5, 12, 12]
    assert [rounds.generation(round_) for round_ in range(12)] == list(range(1, 13))
    assert rounds.lasted(2, 12) == 10
    assert rounds.taken == []


def test_older_file_has_a_round_for_each_recorded_generation():
    rounds = BirthRounds(told(replace(EACH, generations=None)))
    assert [rounds.until(number) for number in (*NUMBERS, None)] == [1, 2, 3, 4, 4]
    assert [rounds.generation(round_) for round_ in range(4)] == list(NUMBERS)
    assert rounds.taken == [1, 1, 3, 7]
    assert rounds.lasted(2, 4) == 10


def test_look_tells_exactly_how_many_rounds_there_were_in_a_thinned_run():
    run = told(EACH, left_out=4)
    rounds = BirthRounds(run)
    assert rounds.at(run.snapshots[-1]) == 12
    assert rounds.at(run.snapshots[1]) == rounds.until(2)
    assert rounds.until(None) == 24  # those left out stand for as many as the others


@pytest.mark.parametrize("births", [EACH, None])
def test_run_without_generations_has_no_rounds(births):
    run = replace(told(births), snapshots=())
    assert BirthRounds(run).until(None) == 0
