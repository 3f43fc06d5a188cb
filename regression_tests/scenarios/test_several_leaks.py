"""Several leaks at once are told each, with holder, phase and line; their twins are calm."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakguard.capture.births.birth_record import _births
from regression_tests.benchmarks.leakbench.score import Case, marks_of
from regression_tests.benchmarks.playing.play import Play, by_run
from regression_tests.benchmarks.playing.player import Player
from regression_tests.benchmarks.sets import MANIFESTS

ENTRIES = {entry.name: entry for entry in MANIFESTS["several_leaks"].entries()}
# Without torch, of two to five leaks in 8 to 60 generations.
_SEEDS = ("seed_02", "seed_04", "seed_06", "seed_08")


def case_of(name: str, folder: Path) -> Case:
    """Play a program and return what is said of it."""
    entry, player = ENTRIES[name], Player(folder)
    assert [playing.failure for playing in player.play([entry])] == [None]
    return Play(entry.key, "idle", 0, by_run(entry, player.run_of(entry), "")).case(entry)


@pytest.mark.skipif(_births is None, reason="the compiled record was not built")
@pytest.mark.parametrize("seed", _SEEDS)
def test_each_of_several_leaks_is_told_with_holder_phase_and_line(seed, tmp_path):
    case = case_of(f"{seed}-leak", tmp_path)
    assert all(mark.holder and mark.phase and mark.line for mark in marks_of(case)), case.said


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_twin_of_several_leaks_is_calm(seed, tmp_path):
    case = case_of(f"{seed}-clean", tmp_path)
    assert case.failure is None
    assert case.alarms == []
