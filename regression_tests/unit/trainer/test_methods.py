"""Every population method: what it promises about memory and resuming, and that it searches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from reference_trainer.__main__ import main
from reference_trainer.agent import DDPGAgent
from reference_trainer.config import METHOD_SETTINGS, SEARCHES, Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.errors import ConfigError
from reference_trainer.methods.normalized_genomes import NormalizedGenomes
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.trainer import ERLTrainer
from regression_tests.unit.trainer.test_checkpoints import everything
from regression_tests.unit.trainer.test_memory_costs import peak

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]
Live = Callable[..., list[int]]
#: A pendulum's fifty steps: enough for a generation that has seen something.
PENDULUM = {"env_id": "Pendulum-v1", "episode_steps": 50, "buffer_ready": 60}


#: Few members for each method, and one that has a learner beside those that search.
FEW: dict[str, dict[str, Any]] = {
    **{name: {"learners": 1, **needed, "population_size": 6, "method": name}
       for name, needed in METHOD_SETTINGS.items()},
    "ars with a learner": {"learners": 1, "actor_hidden": (), "population_size": 3,
                           "method": "ars", "normalize_observations": False},
}  # fmt: skip


@pytest.fixture(params=FEW)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A method with its settings, and few members; skipped where its package is missing."""
    if request.param == "cma":
        pytest.importorskip("cma")
    return dict(FEW[request.param])


@pytest.mark.parametrize("task", [{}, PENDULUM], ids=["market", "pendulum"])
def test_a_resumed_run_is_the_same_run(
    trainer: Trainer, run: Run, tmp_path: Path, settings: dict[str, Any], task: dict[str, Any]
) -> None:
    whole = run(trainer(out=tmp_path / "whole", **settings, **task), 4)
    run(trainer(out=tmp_path / "parts", **settings, **task), 2)
    rest = trainer(out=tmp_path / "parts", **settings, **task)
    assert rest.resume() == 2
    run(rest, 4)
    assert all(map(np.array_equal, everything(whole), everything(rest)))
    assert list(whole.history) == list(rest.history)
    known = rest.method.arrays()
    assert known.keys() == whole.method.arrays().keys()
    assert all(np.array_equal(array, known[name]) for name, array in whole.method.arrays().items())


def test_live_objects_never_change(
    trainer: Trainer, run: Run, live: Live, settings: dict[str, Any]
) -> None:
    kinds = (TradingEnvironment, DDPGAgent, ReplayBuffer, torch.Tensor)
    made, seen = trainer(**settings), []
    # Of tensors: those of the first generation stay, in it some are made.
    for generation in range(1, 5):
        run(made, generation)
        seen.append(live(*kinds))
    assert seen[1:] == [seen[1]] * 3


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="reads the kernel's high-water mark"
)
def test_evolution_and_checkpoints_cost_no_memory(
    trainer: Trainer, run: Run, settings: dict[str, Any]
) -> None:
    settings["hidden"] = (256, 256)
    made = run(trainer(**settings), 2)
    made.begin_generation(3)
    made.evaluate_population()
    assert peak(made.evolve_population) < 0.1 * sum(
        n.nbytes for n in made.population.stack.networks
    )
    assert peak(made.save_checkpoint) < 32_000_000


def test_two_runs_with_one_seed_are_the_same(
    trainer: Trainer, run: Run, tmp_path: Path, settings: dict[str, Any]
) -> None:
    state = np.random.get_state()[1].copy()  # type: ignore[union-attr]
    one, two = (run(trainer(out=tmp_path / name, **settings), 3) for name in "ab")
    assert list(one.history) == list(two.history)
    assert all(map(np.array_equal, everything(one), everything(two)))
    assert np.array_equal(state, np.random.get_state()[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("method", SEARCHES)
def test_a_search_comes_closer_to_what_is_wanted(trainer: Trainer, method: str) -> None:
    if method == "cma":
        pytest.importorskip("cma")
    made = trainer(**{**PENDULUM, "method": method, **METHOD_SETTINGS[method]})
    wanted, rng, genomes = torch.tensor([1.0, -1.0, 0.5, 0.0]), np.random.default_rng(0), []
    for generation in range(60):
        for agent in made.population.agents:
            agent.fitness = -float((agent.stack.actor.values[0] - wanted).square().sum())
        genomes.append(np.mean(made.population.fitnesses()))
        made.method.tell(generation)
        made.method.ask(rng)
    assert genomes[0] < -2
    assert genomes[-1] > -0.2


def test_a_direction_that_pays_both_ways_alike_moves_nothing(trainer: Trainer) -> None:
    made = trainer(**{**PENDULUM, "method": "ars", **METHOD_SETTINGS["ars"]})
    for agent in made.population.agents:
        agent.fitness = 1.0
    made.method.tell(1)
    assert not made.method.arrays()["centre"].any()


def test_only_the_best_directions_decide_a_step(trainer: Trainer) -> None:
    changed = {"population_size": 4, "top_fraction": 0.5, "step_size": 0.1}
    made = trainer(**{**PENDULUM, "method": "ars", **METHOD_SETTINGS["ars"], **changed})
    directions = made.method.directions.copy()  # type: ignore[attr-defined]
    for agent, fitness in zip(made.population.agents, [9.0, 5.0, 8.0, -50.0], strict=True):
        agent.fitness = fitness
    made.method.tell(1)
    # alpha / (b sigma_R) (r+ - r-) delta with b = 1 and sigma_R that of 9 and 5.
    expected = 0.1 / (1 * 2.0) * (9.0 - 5.0) * directions[0]
    np.testing.assert_allclose(made.method.arrays()["centre"], expected)


def test_a_genome_is_written_as_an_actor_of_what_is_observed(trainer: Trainer, run: Run) -> None:
    made = run(trainer(**PENDULUM, actor_hidden=(), buffer_capacity=5000), 2)
    genomes = NormalizedGenomes(made.population, made.buffer)
    genomes.observe()
    seen = np.concatenate([piece.copy() for piece in made.buffer.newest_observations(10**6)])
    assert len(seen) == made.transitions
    np.testing.assert_allclose(genomes.mean, seen.mean(axis=0, dtype=np.float64))
    np.testing.assert_allclose(genomes.deviation(), seen.std(axis=0, dtype=np.float64), rtol=1e-5)

    genome = np.array([0.3, -0.2, 0.1])
    genomes.write(0, genome)
    state = (seen[7] - seen.mean(axis=0)) / seen.std(axis=0)
    answer = np.tanh(genome @ state)
    assert made.population.agents[0].act(seen[7]) == pytest.approx(answer, abs=1e-5)


def test_a_learner_goes_on_from_a_search_and_not_the_other_way_round(trainer: Trainer) -> None:
    made = trainer(**{**PENDULUM, **FEW["ars with a learner"]})
    actor = made.population.stack.actor.values
    for generation, fitnesses in ((2, [9.0, 1.0, 1.0]), (3, [0.0, 1.0, 2.0])):
        for agent, fitness in zip(made.population.agents, fitnesses, strict=True):
            agent.fitness = fitness
        learner, fittest = actor[0].clone(), actor[2].clone()
        made.method.tell(generation)
        assert torch.equal(actor[0], learner if generation == 2 else fittest)
        assert made.method.arrays()["centre"].any() == (generation == 3)


def test_an_input_that_never_changes_is_not_listened_to(trainer: Trainer, run: Run) -> None:
    made = run(trainer(**PENDULUM, actor_hidden=()), 1)
    made.buffer.columns["observation"][:, 1] = 0.5
    genomes = NormalizedGenomes(made.population, made.buffer)
    genomes.observe()
    genomes.write(0, np.ones(3))
    assert made.population.stack.actor.values[0, 1] == 0.0
    assert torch.isfinite(made.population.stack.actor.values[0]).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"method": "annealing"}, "method='annealing': choose erl, pderl, ars, cma"),
        ({"method": "ars"}, "method=ars needs learners=0, got None"),
        ({"method": "ars", "learners": 0, "evolution": False}, "needs evolution=True"),
        ({"method": "cma", "learners": 0, "network": "per_asset"}, "needs network=mlp"),
        ({"method": "ars", "learners": 0, "population_size": 5}, "give an even number"),
        ({"method": "ars", "learners": 6, "population_size": 6}, "give an even number"),
        ({"method": "cma", "learners": 1}, "method=cma needs learners=0, got 1"),
        ({"method": "cma", "learners": 0, "population_size": 5}, "CMA-ES needs 6 members"),
        ({"method": "ars", "learners": 0, "top_fraction": 2.0}, "top_fraction=2.0 is no share"),
    ],
)
def test_settings_that_a_method_cannot_use_are_refused(
    tiny: Callable[..., Config], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        tiny(**changes)


def test_without_its_package_a_method_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_dir: Path
) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    words = ["--method", "cma", "--out", str(tmp_path), "--data-dir", str(data_dir), "--no-guard"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: method=cma needs the package cma: pip install 'leakguard-training[cma]'\n"
    )


@pytest.mark.parametrize("method", METHOD_SETTINGS)
def test_every_method_is_chosen_on_the_command_line(
    method: str, tmp_path: Path, data_dir: Path
) -> None:
    if method == "cma":
        pytest.importorskip("cma")
    words = ["--method", method, "--generations", "1", "--out", str(tmp_path), "--no-guard",
             "--data-dir", str(data_dir), "--set", "days=200", "--set", "stocks=6",
             "--set", "context_days=20", "--set", "validation_days=40",
             "--set", "buffer_ready=5000"]  # fmt: skip
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "checkpoints" / "gen_000001" / "method.safetensors").exists() == (
        method in SEARCHES
    )
