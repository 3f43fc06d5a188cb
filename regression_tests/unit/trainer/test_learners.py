"""Learners and those that evolve, apart: what ERL means by a population and a learner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from reference_trainer.config import Config
from reference_trainer.errors import ConfigError
from reference_trainer.methods.pderl import distillation_crossover
from reference_trainer.trainer import ERLTrainer

Trainer = Callable[..., ERLTrainer]
Run = Callable[[ERLTrainer, int], ERLTrainer]


def genome(made: ERLTrainer, member: int) -> torch.Tensor:
    return made.population.stack.actor.values[member].clone()


def evaluated(made: ERLTrainer, fitnesses: list[float]) -> ERLTrainer:
    for agent, fitness in zip(made.population.agents, fitnesses, strict=True):
        agent.fitness = fitness
    return made


def test_gradients_change_learners_and_nobody_else(trainer: Trainer) -> None:
    made = trainer(learners=2)
    made.begin_generation(1)
    made.evaluate_population()
    before = [genome(made, member) for member in range(6)]
    made.train_population()
    changed = [not torch.equal(genome(made, m), before[m]) for m in range(6)]
    assert changed == [True, True, False, False, False, False]
    assert made.metrics.record["updates"] == 3


def test_evolution_never_writes_over_a_learner(trainer: Trainer) -> None:
    made = trainer(learners=2, mutation_probability=1.0)
    made.begin_generation(1)
    made.evaluate_population()
    before = [genome(made, member) for member in range(2)]
    for _ in range(5):
        made.evolve_population()
    assert all(torch.equal(genome(made, member), before[member]) for member in range(2))
    assert made.population.made_by[:2] == ["learner"] * 2
    assert "learner" not in made.population.made_by[2:]


def test_what_an_elite_earned_it_earns_again_after_training(trainer: Trainer, run: Run) -> None:
    made = run(trainer(learners=1), 1)
    elite = made.population.made_by.index("elite")
    before = genome(made, elite)
    made.begin_generation(2)
    made.evaluate_population()
    made.train_population()
    assert torch.equal(genome(made, elite), before)


def test_the_fittest_learner_takes_the_place_of_the_weakest(trainer: Trainer) -> None:
    made = evaluated(trainer(learners=2), [5.0, 7.0, 9.0, 1.0, 3.0, 8.0])
    learner = genome(made, 1)
    assert made.population.admit_learner() == 3
    assert torch.equal(genome(made, 3), learner)
    assert made.population.fitnesses() == [5.0, 7.0, 9.0, 7.0, 3.0, 8.0]
    made.population.trained.actor.values.add_(1.0)
    assert torch.equal(genome(made, 3), learner)


def test_a_learner_displaces_nobody_that_is_fitter(trainer: Trainer) -> None:
    made = evaluated(trainer(learners=2), [0.0, 1.0, 1.0, 4.0, 3.0, 8.0])
    before = made.population.stack.actor.values.clone()
    assert made.population.admit_learner() is None
    assert torch.equal(made.population.stack.actor.values, before)


def test_what_became_of_the_learner_is_in_the_record(trainer: Trainer) -> None:
    made = evaluated(trainer(learners=1), [9.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    made.begin_generation(1)
    made.method.admitted = made.population.admit_learner()  # type: ignore[attr-defined]
    made.evolve_population()
    assert made.metrics.record["learner_became"] == "elite"


def test_a_learner_is_let_in_as_seldom_as_it_is_said(trainer: Trainer, run: Run) -> None:
    made, asked = trainer(learners=1, admit_every=2, generations=5), []
    made.population.admit_learner = lambda: asked.append(made.generation)  # type: ignore[method-assign,func-returns-value]
    run(made, 5)
    assert asked == [2, 4]


def test_a_learner_worse_than_most_goes_on_from_the_fittest_that_evolves(trainer: Trainer) -> None:
    made = evaluated(trainer(learners=2), [0.0, 5.0, 9.0, 1.0, 3.0, 8.0])
    made.population.stack.actor.exp_avg.fill_(1.0)
    critic = made.population.stack.critic.values.clone()
    assert made.population.restart_learner() == 0
    actor = made.population.stack.actor
    assert torch.equal(actor.values[0], genome(made, 2))
    assert torch.equal(actor.target[0], genome(made, 2))
    assert not actor.exp_avg[0].any()
    assert actor.exp_avg[1:].all()
    assert torch.equal(made.population.stack.critic.values, critic)


@pytest.mark.parametrize(("begins_again", "fitness"), [(True, 5.0), (False, 0.0)])
def test_a_learner_as_good_as_most_or_one_that_never_begins_again_is_left_alone(
    trainer: Trainer, begins_again: bool, fitness: float
) -> None:
    evolving = [9.0, 9.0, 5.0, 3.0, 4.0]
    made = evaluated(trainer(learners=1, restart_behind=begins_again), [fitness, *evolving])
    before = made.population.stack.actor.values.clone()
    assert made.population.restart_learner() is None
    assert torch.equal(made.population.stack.actor.values, before)


def test_those_that_evolve_are_measured_without_noise(trainer: Trainer) -> None:
    assert [trainer(learners=2).config.explores(member) for member in (0, 1, 2, 5)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert trainer().config.explores(5)
    assert [agent.noise_scale for agent in trainer(learners=1).population.agents] == [0.1] + [0] * 5


def test_evolution_alone_learns_nothing_by_gradients(trainer: Trainer, run: Run) -> None:
    made = run(trainer(learners=0, buffer_ready=10), 3)
    assert [record["updates"] for record in made.history] == [0, 0, 0]
    assert not made.population.stack.critic.exp_avg.any()


def test_without_evolution_the_same_agents_begin_and_all_learn(trainer: Trainer) -> None:
    apart, together = trainer(learners=2), trainer(learners=2, evolution=False)
    assert torch.equal(apart.population.stack.actor.values, together.population.stack.actor.values)
    assert (apart.population.trained.rows, together.population.trained.rows) == (2, 6)


def test_one_learner_alone_needs_no_population(trainer: Trainer, run: Run) -> None:
    made = run(trainer(population_size=1, evolution=False, buffer_ready=10), 2)
    assert [record["updates"] for record in made.history] == [3, 3]


def test_those_that_evolve_begin_with_actions_of_every_size(trainer: Trainer) -> None:
    made = trainer(learners=1, hidden=(64, 64))
    size = made.task.architecture.observation_size
    states = torch.randn(1, 200, size, generator=torch.Generator().manual_seed(0))
    spread = [float(agent.stack.act(states).std()) for agent in made.population.agents]
    assert spread[0] < 0.25 < min(spread[1:])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"learners": 6}, "learners=6 of 6 agents"),
        ({"learners": -1}, "learners=-1"),
        ({"learners": 5}, "makes all that evolve elites"),
        ({"learners": 0, "method": "pderl"}, "asks a critic"),
    ],
)
def test_settings_that_leave_nobody_to_evolve_are_refused(
    tiny: Callable[..., Config], settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        tiny(**settings)


@pytest.mark.parametrize(("method", "critics"), [("erl", 1), ("pderl", 1), ("pderl", 2)])
def test_a_resumed_run_with_a_learner_is_the_same_run(
    trainer: Trainer, run: Run, tmp_path: Path, method: str, critics: int
) -> None:
    settings = {"learners": 1, "admit_every": 2, "method": method, "critics": critics}
    whole = run(trainer(out=tmp_path / "whole", **settings), 4)
    run(trainer(out=tmp_path / "parts", **settings), 2)
    rest = trainer(out=tmp_path / "parts", **settings)
    assert rest.resume() == 2
    run(rest, 4)
    for one, two in zip(whole.population.stack.networks, rest.population.stack.networks,
                        strict=True):  # fmt: skip
        for a, b in zip(one.followers(), two.followers(), strict=True):
            assert torch.equal(a, b)
    assert list(whole.history) == list(rest.history)


def test_a_judge_decides_whose_action_is_learnt(trainer: Trainer, run: Run) -> None:
    made = run(trainer(learners=1), 1)
    stack, buffer = made.population.evolving, made.buffer
    critic = made.population.judge
    assert critic is not None
    assert critic.rows == 1
    children = []
    for judge in (None, critic):
        copy = stack.copy()
        copy.critic.values.neg_()  # the parents' own opinions are the opposite
        distillation_crossover(buffer, judge)(copy, 4, 0, 1, np.random.default_rng(0))
        children.append(copy.actor.values[4].clone())
    assert not torch.equal(*children)
