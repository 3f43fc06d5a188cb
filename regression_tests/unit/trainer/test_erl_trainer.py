from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch

from leakguard.testing import FakeClock
from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.environment import TradingEnvironment
from reference_trainer.hooks import Hooks
from reference_trainer.plots import Plotter
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.task import normalized
from reference_trainer.trainer import ERLTrainer
from reference_trainer.watching import Watching, warm_up

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]
Live = Callable[..., list[int]]


def test_live_objects_never_change_in_a_healthy_run(trainer: Trainer, run: Run, live: Live) -> None:
    kinds = (TradingEnvironment, DDPGAgent, ReplayBuffer)
    before = live(*kinds)
    made, seen = trainer(), []
    for generation in range(4):
        run(made, generation)
        seen.append([now - then for now, then in zip(live(*kinds), before, strict=True)])
    assert seen == [[2, 6 + 1, 1]] * 4


def test_transitions_equal_the_lengths_of_the_episodes(trainer: Trainer, run: Run) -> None:
    made = run(trainer(buffer_capacity=1000), 3)
    assert made.transitions == 3 * 6 * 11
    assert len(made.buffer) == made.transitions
    # The champion of each generation and the best before it play once more, without noise.
    assert made.env_steps == made.transitions + (1 + 2 + 2) * 11


def test_agents_of_a_generation_start_on_the_same_day(trainer: Trainer) -> None:
    made, starts = trainer(), []
    made.generation = 1
    reset = made.task.eval_env.reset
    made.task.eval_env.reset = lambda **options: (
        starts.append(options["options"]) or reset(**options)
    )  # type: ignore[method-assign,func-returns-value]
    made.evaluate_population()
    made.generation = 2
    made.evaluate_population()
    assert len(starts) == (6 + 1) + (6 + 2)
    assert all(start == starts[0] for start in starts[:7])
    assert all(start == starts[7] for start in starts[7:])
    assert starts[7] != starts[0]


def test_training_waits_for_the_buffer_and_says_so(trainer: Trainer, run: Run) -> None:
    made = run(trainer(buffer_ready=100), 2)
    printed = made.log.getvalue()  # type: ignore[attr-defined]
    assert "Buffer not ready: 66 / 100" in printed
    assert [record["updates"] for record in made.history] == [0, 3]


def test_best_agent_is_the_champion_before_it_was_trained(trainer: Trainer) -> None:
    made = trainer()
    made.generation = 1
    made.evaluate_population()
    fitness = made.population.fitnesses()
    champion = int(np.argmax(fitness))
    values = made.population.stack.actor.values
    assert torch.equal(values[made.population.best_row], values[champion])
    made.population.trained.actor.values.add_(1.0)
    assert not torch.equal(values[made.population.best_row], values[champion])


def test_best_agent_keeps_its_title_against_a_worse_champion(trainer: Trainer) -> None:
    made = trainer(explore_in_fitness=False)
    made.begin_generation(1)
    made.evaluate_population()
    best = made.population.stack.actor.values[made.population.best_row].clone()
    for agent in made.population.agents:
        agent.stack.actor.frozen[-1][1].fill_(-50.0)  # nobody buys anything
    made.champion.is_new = False
    challenger, title = (made.champion._score(a, made.task.validation_plans())
                         for a in (made.population.agents[0], made.population.best))  # fmt: skip
    made.champion.challenge(made.task.validation_plans())
    assert challenger == 0.0
    assert title is not None
    assert made.champion.is_new == (title < 0)
    kept = torch.equal(made.population.stack.actor.values[made.population.best_row], best)
    assert kept == (title >= 0)


def test_a_title_is_fought_for_as_seldom_as_it_is_said(trainer: Trainer, run: Run) -> None:
    made, fought = trainer(title_every=3, generations=7), []
    made.champion.challenge = lambda plans: fought.append(made.generation)  # type: ignore[method-assign]
    run(made, 7)
    assert fought == [1, 4, 7]


def test_in_short_episodes_only_who_beats_the_best_fights_for_its_title(trainer: Trainer) -> None:
    made = trainer(env_id="Pendulum-v1", population_size=3, elite_fraction=0.3, episode_steps=20,
                   explore_in_fitness=False)  # fmt: skip
    made.begin_generation(1)
    made.evaluate_population()
    steps, plans = made.env_steps, made.evaluation.plans(1)
    made.champion.challenge(plans)  # the fittest is the best agent's equal: 20 steps say so
    assert made.env_steps == steps + 20
    made.population.agents[1].fitness = 1.0  # more than any episode earns
    made.champion.challenge(plans)
    assert made.env_steps == steps + 20 + 20 + 2 * 200


def test_best_agent_is_validated_only_when_it_is_new(trainer: Trainer) -> None:
    made = trainer()
    made.begin_generation(1)
    made.evaluate_population()
    made.champion.validate()
    first = made.metrics.record["validation"]
    made.champion.validate()
    assert first is not None
    assert made.metrics.record["validation"] is None


def test_validation_days_never_overlap_training_days(trainer: Trainer) -> None:
    task = trainer().task
    rng = np.random.default_rng(0)
    trained = {
        day
        for _ in range(300)
        for options in [task.plan_episode(rng).options]
        for day in range(options["start_idx"], options["end_idx"] + 1)
    }
    validated = {
        day
        for plan in task.validation_plans()
        for day in range(plan.options["start_idx"], plan.options["end_idx"] + 1)
    }
    assert trained
    assert validated
    assert not trained & validated


def test_without_evolution_no_genome_moves(trainer: Trainer) -> None:
    made = trainer(evolution=False)
    made.generation = 1
    made.evaluate_population()
    before = made.population.stack.actor.values.clone()
    made.evolve_population()
    assert torch.equal(made.population.stack.actor.values, before)


def test_operator_statistics_count_every_agent(trainer: Trainer, run: Run) -> None:
    made = run(trainer(), 3)
    for record in made.history:
        assert sum(entry["agents"] for entry in record["made_by"].values()) == 6
    assert set(made.history[0]["made_by"]) == {"kept"}
    assert made.history[1]["made_by"]["elite"]["agents"] == made.config.elites


def test_same_seed_gives_the_same_run(trainer: Trainer, run: Run, tmp_path: Path) -> None:
    one, two = (run(trainer(out=tmp_path / name), 3) for name in "ab")
    assert list(one.history) == list(two.history)
    assert torch.equal(one.population.stack.actor.values, two.population.stack.actor.values)
    other = run(trainer(out=tmp_path / "c", seed=1), 3)
    assert list(other.history) != list(one.history)


def test_warming_up_changes_no_number(trainer: Trainer, run: Run, tmp_path: Path) -> None:
    cold, warm = trainer(out=tmp_path / "a"), trainer(out=tmp_path / "b")
    warm_up(warm)
    assert list(run(cold, 2).history) == list(run(warm, 2).history)


def test_watched_training_ends_bit_for_bit_like_an_unwatched_one(
    tiny: Callable[..., Config], tmp_path: Path
) -> None:
    """Metrics of each generation and every tensor of the last checkpoint."""
    ends = []
    for name, hooks in (("alone", Hooks()), ("watched", Watching(clock=FakeClock()))):
        config = tiny(out=tmp_path / name, generations=2)
        ERLTrainer(config, log=io.StringIO(), hooks=hooks).train()
        folder = config.out / "checkpoints/gen_000002"
        files = {path.name: path.read_bytes() for path in folder.rglob("*.safetensors")}
        ends.append(((config.out / "metrics.jsonl").read_bytes(), files))
    assert (tmp_path / "watched/run.jsonl").exists()
    assert ends[0] == ends[1]


def test_environments_and_buffer_share_one_panel(trainer: Trainer) -> None:
    made = trainer()
    panel = made.task.panel.data_array  # type: ignore[attr-defined]
    for env in (made.task.eval_env, made.task.val_env):
        assert np.shares_memory(env.data_array, panel)
    assert np.shares_memory(made.buffer.storage.view.source, panel)  # type: ignore[attr-defined]


def test_the_task_is_described_by_its_days(trainer: Trainer) -> None:
    assert trainer().task.describe() == (
        "Market synthetic_200x6_seed0_signal0.parquet: 200 days x 6 stocks x 9 features\n"
        "Training days 20 to 156, validation days 160 to 199"
    )


def test_memory_by_phase_is_drawn_as_one_line_a_phase(tmp_path: Path) -> None:
    plotter = Plotter()
    plotter.memory({"evaluate": [100.0, 101.0], "train": [102.0, 103.0]}, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 1_000
    assert not plotter.figure.axes


def test_each_generation_is_announced_with_its_status(trainer: Trainer, run: Run) -> None:
    printed = run(trainer(generations=4), 2).log.getvalue()  # type: ignore[attr-defined]
    for line in ("Generation 2 / 4", "Fitness: mean", "System status:", "132 / 200"):
        assert line in printed


def test_metrics_are_one_json_line_a_generation(trainer: Trainer, run: Run) -> None:
    made = run(trainer(), 3)
    lines = (made.config.out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["generation"] for line in lines] == [1, 2, 3]


def test_plots_leave_no_figure_with_pyplot(trainer: Trainer, run: Run) -> None:
    made = run(trainer(plot_every=1), 2)
    assert (made.config.out / "plots" / "fitness.png").stat().st_size > 1_000
    pyplot = pytest.importorskip("matplotlib.pyplot")
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    "settings",
    [
        {"network": "per_asset"},
        {"window": 3},
        {"method": "pderl"},
        {"actor_hidden": ()},
        {"max_positions": 2},
    ],
)
def test_every_option_trains(trainer: Trainer, run: Run, settings: dict[str, object]) -> None:
    made = run(trainer(**settings), 2)
    assert made.history[-1]["updates"] == 3
    assert np.isfinite(made.history[-1]["critic_loss"])


def test_a_gymnasium_task_trains_on_the_same_code(trainer: Trainer, run: Run) -> None:
    made = run(trainer(env_id="Pendulum-v1", population_size=3, elite_fraction=0.3), 1)
    assert made.transitions == 3 * 200
    assert made.history[-1]["updates"] == 3


def test_observations_with_known_bounds_are_seen_between_minus_one_and_one() -> None:
    car = normalized(gymnasium.make("MountainCarContinuous-v0"))
    assert isinstance(car.observation_space, gymnasium.spaces.Box)
    assert (car.observation_space.low == -1).all()
    assert (car.observation_space.high == 1).all()
    start = car.reset(seed=0)[0]
    assert start[1] == pytest.approx(0.0)  # it stands still, in the middle of its speeds
    assert -1 < start[0] < 1


def test_observations_without_bounds_are_seen_as_they_are() -> None:
    env = gymnasium.Env[np.ndarray, np.ndarray]()
    env.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    assert normalized(env) is env
