"""The memory budgets of a trainer, generation by generation: copy this file for your own.

Three kinds of tests do the work:

- the healthy trainer keeps its budget: so many environments, agents and buffers, and little growth;
- the same trainer with a known leak breaks it: a budget that cannot fail guards nothing;
- the peak of a run and what a finished trainer leaves behind, with the marks of pytest-memray.

The sizes are those of a small training. At paper size the same marks read ``growth="1 GB"`` and
``peak="4 GB"``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

from leakguard.errors import MemoryBudgetBroken
from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.hooks import HookChain
from reference_trainer.leaks import planted
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.trainer import ERLTrainer
from reference_trainer.watching import Phases

#: What is alive at the end of every generation, whatever happened in it.
CONSTANT = {TradingEnvironment: 2, DDPGAgent: (16, 17), ReplayBuffer: 1}

Build = Callable[..., ERLTrainer]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the synthetic market."""
    return tmp_path_factory.mktemp("market")


@pytest.fixture
def build(market: Path, tmp_path: Path) -> Build:
    """Return a function that builds a small trainer; the watching is the test's, not its own."""

    def trainer(*leaks: str) -> ERLTrainer:
        config = Config(
            out=tmp_path / "run", data_dir=market, generations=100,
            days=200, stocks=6, context_days=20, trading_days=8, settlement_days=3,
            validation_days=40, hidden=(16, 16), batch_size=16, gradient_steps=8,
            accumulation_steps=2, buffer_capacity=600, buffer_ready=100, plot_every=1000,
            progress=False,
        )  # fmt: skip
        hooks = HookChain([Phases(), *planted(leaks)])
        return ERLTrainer(config, log=io.StringIO(), hooks=hooks)

    return trainer


@pytest.mark.memory_budget(growth="2 MB", peak="4 GB", constant=CONSTANT, threads=0, open_files=0)
def test_healthy_trainer_keeps_its_budget_in_every_generation(memory_budget, build: Build):
    trainer = build()
    memory_budget.gauge("replay_buffer", lambda: len(trainer.buffer), capacity=600)
    for generation in memory_budget.generations(5):
        trainer.run_generation(generation)


@pytest.mark.parametrize(
    ("leak", "named"),
    [
        ("env-per-episode", "TradingEnvironment"),
        pytest.param("old-population", "DDPGAgent", marks=pytest.mark.heavy),
        pytest.param("loss-graph", r"autograd\s+graph", marks=pytest.mark.heavy),
    ],
)
@pytest.mark.memory_budget(growth="2 MB", constant=CONSTANT, retries=0)
def test_leak_breaks_the_budget_and_is_named(memory_budget, build: Build, leak: str, named: str):
    trainer = build(leak)
    with pytest.raises(MemoryBudgetBroken, match=named):
        for generation in memory_budget.generations(5):
            trainer.run_generation(generation)


def test_trainer_that_is_done_leaves_nothing_behind(build: Build, expect_freed):
    trainer = build()
    trainer.run_generation(1)
    expect_freed(trainer, "the run is over")
    expect_freed(trainer.population.agents, "the run is over")


@pytest.mark.limit_memory("200 MB")
def test_one_generation_needs_little_memory_at_once(build: Build):
    build().run_generation(1)


@pytest.mark.limit_leaks("1 MB")
def test_one_generation_leaks_no_native_memory(build: Build):
    build().run_generation(1)
