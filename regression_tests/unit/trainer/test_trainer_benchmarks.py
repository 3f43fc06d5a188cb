"""The figures of the benchmarks are judged by the rules that they print."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
from small_stacks import make_batch, make_stack

from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.task import TradingTask

ROOT = Path(__file__).parents[3]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of `regression_tests.benchmarks.trainer` by its name."""
    monkeypatch.syspath_prepend(str(ROOT))
    assert sys.path[0] == str(ROOT)
    return lambda name: importlib.import_module(f"regression_tests.benchmarks.trainer.{name}")


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    # Points of Student's t from the usual tables.
    [(1.812, 10, 0.05), (1.699, 29, 0.05), (2.462, 29, 0.01), (-1.699, 29, 0.95), (0.0, 5, 0.5)],
)
def test_chance_of_a_student_t_is_the_tabulated_one(
    benchmark: Callable[[str], ModuleType], t: float, freedom: int, p: float
) -> None:
    assert benchmark("trading").p_above(t, freedom) == pytest.approx(p, abs=2e-4)


@pytest.mark.parametrize("way", ["by hand", "torch.func", "torch.compile"])
def test_every_way_to_make_an_update_makes_that_of_the_equations(
    benchmark: Callable[[str], ModuleType], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways, stack, batch = benchmark("update_ways"), make_stack(saturation_penalty=0.3), make_batch()
    agents: list[AgentStack] = []
    made = ways.uncompiled
    monkeypatch.setattr(ways, "uncompiled", lambda of: agents.append(made(of)) or agents[-1])
    # What a compiler makes of the function is its own affair, and takes it half a minute.
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    steps = [ways.WAYS[name](stack) for name in ("autograd", way)]
    for _ in range(3):
        for step in steps:
            step(batch)
    expected, found = agents
    for network, other in zip(expected.networks, found.networks, strict=True):
        for mine, theirs in zip(network.followers(), other.followers(), strict=True):
            assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_windows_out_of_sample_do_not_overlap(
    benchmark: Callable[[str], ModuleType], tiny: Callable[..., Config]
) -> None:
    task = TradingTask(tiny())
    windows = benchmark("trading").disjoint_windows(task)
    assert len(windows) == 3
    for one, two in itertools.pairwise(windows):
        assert one["end_idx"] <= two["start_idx"]
    for window in windows:
        assert window["start_idx"] in task.split.validation
        assert window["end_idx"] in task.split.validation


def test_systems_that_are_compared_get_the_same_steps(
    benchmark: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    pytest.importorskip("stable_baselines3")
    learning = benchmark("learning")
    changed = {
        "population_size": 3, "elite_fraction": 0.3, "hidden": (8, 8), "batch_size": 8,
        "random_steps": 50, "buffer_ready": 50, "episode_steps": 20, "out": tmp_path,
    }  # fmt: skip
    outcomes = [
        learning._run(system, "Pendulum-v1", 450, 0, changed) for system in learning.SYSTEMS
    ]
    assert [outcome.steps for outcome in outcomes] == [450] * 4
    assert all(outcome.agent_updates > 0 for outcome in outcomes)
    table = learning._table("Pendulum-v1", 450, -200, outcomes, changed)
    assert table.count("| evolution |") == 2
