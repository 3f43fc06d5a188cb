from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from reference_trainer.config import Config
from reference_trainer.evaluation import Purpose, stream
from reference_trainer.replay_buffer import TERMINATED
from reference_trainer.rollout import StepBudget, play_episode
from reference_trainer.trainer import ERLTrainer

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]
#: Six agents and one champion play eleven steps each in the first generation.
FIRST = 7 * 11


@pytest.mark.parametrize("limit", [5, 66, 70, FIRST, 100, 200])
def test_a_run_takes_exactly_the_steps_it_may(trainer: Trainer, limit: int) -> None:
    made = trainer(max_env_steps=limit, generations=50)
    made.train()
    assert made.env_steps == limit
    assert made.history[-1]["env_steps"] == limit
    assert made.transitions <= limit


def test_steps_that_were_cut_off_are_still_learnt_from(trainer: Trainer) -> None:
    made = trainer(max_env_steps=FIRST + 15, generations=50)
    made.train()
    assert [record["new_transitions"] for record in made.history] == [66, 15]
    assert made.history[-1]["updates"] == 3


def test_half_a_generation_selects_nobody(trainer: Trainer) -> None:
    made = trainer(max_env_steps=FIRST + 15, generations=50)
    made.run_generation(1)
    best = made.population.stack.actor.values[made.population.best_row].clone()
    made.begin_generation(2)
    made.evaluate_population()
    before = made.population.stack.actor.values.clone()
    made.evolve_population()
    assert torch.equal(made.population.stack.actor.values, before)
    assert torch.equal(before[made.population.best_row], best)
    assert made.metrics.record["made_by"] == {}


def test_a_title_fight_without_steps_changes_no_title(trainer: Trainer) -> None:
    made = trainer(max_env_steps=66 + 5)
    made.begin_generation(1)
    made.evaluate_population()
    assert made.env_steps == 71
    assert made.population.best.fitness is None


def test_a_higher_limit_lets_a_resumed_run_go_on(trainer: Trainer) -> None:
    trainer(max_env_steps=100, generations=50).train()
    more = trainer(max_env_steps=150, generations=50)
    assert more.resume() == 2
    more.train()
    assert more.env_steps == 150


def test_a_time_limit_of_the_population_ends_no_task(trainer: Trainer, run: Run) -> None:
    made = run(trainer(env_id="Pendulum-v1", population_size=3, elite_fraction=0.3,
                       episode_steps=20), 1)  # fmt: skip
    assert made.transitions == 3 * 20
    assert not (made.buffer.columns["flags"] & TERMINATED).any()
    # The champion is judged by a whole episode.
    assert made.env_steps == 3 * 20 + 200


def test_without_a_limit_there_are_always_steps_left() -> None:
    budget = StepBudget()
    budget.spend(10**9)
    assert budget.left > 10**9
    assert Config().max_env_steps is None


def test_random_actions_fill_the_buffer_and_measure_nobody(
    trainer: Trainer, run: Run, tmp_path: Path
) -> None:
    settings = {"env_id": "Pendulum-v1", "population_size": 3, "elite_fraction": 0.3,
                "episode_steps": 20, "buffer_capacity": 1000, "buffer_ready": 900}  # fmt: skip
    plain = run(trainer(out=tmp_path / "a", **settings), 1)
    random = run(trainer(out=tmp_path / "b", random_steps=230, **settings), 1)
    assert random.env_steps == plain.env_steps + 230
    assert len(random.buffer) == len(plain.buffer) + 230
    assert random.population.fitnesses() == plain.population.fitnesses()


def test_last_steps_decide_among_the_trained(trainer: Trainer) -> None:
    made = trainer(max_env_steps=FIRST + 3 * 11, generations=50)
    made.train()
    judged = made.population.best
    scores = [score for score in [made.history[-1]["best_fitness"]] if score is not None]
    plan = made.task.plan_episode(stream(0, Purpose.FINAL, 2))
    again = play_episode(made.task.eval_env, judged.act, seed=plan.seed, options=plan.options)
    assert scores == [again.reward]
    assert "before anything that evolution made has played" in made.log.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("rewards", "winner", "score"),
    [
        ([[1.0], [3.0], [2.0]], 4, 3.0),
        ([[1.0, 9.0], [3.0, 9.0], [4.0]], 2, 4.0),  # not all played the second episode
        ([[5.0], [5.01], []], None, 5.0),  # among equals the champion stays
        ([[], [], []], None, None),
    ],
)
def test_the_title_goes_to_the_best_of_the_last_episodes(
    trainer: Trainer, rewards: list[list[float]], winner: int | None, score: float | None
) -> None:
    population = (made := trainer()).population
    before = population.best.stack.actor.values.clone()
    made.champion.finals([4, 2], rewards)
    expected = before if winner is None else population.agents[winner].stack.actor.values
    assert torch.equal(population.best.stack.actor.values, expected)
    assert population.best.fitness == score
