from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from reference_trainer.ddpg import AgentStack, LearningRules
from reference_trainer.evolution import EvolutionRules, evolve
from reference_trainer.networks import mlp_architecture
from reference_trainer.operators import (
    distillation_crossover,
    novelty,
    proximal_mutation,
    sync_learner,
)
from reference_trainer.replay_buffer import ReplayBuffer, Step
from reference_trainer.state_storage import VectorStates


def make_stack(rows: int = 6, actions: int = 2) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(4, actions, (16, 16)),
        LearningRules(),
        rows,
        actor_lr=3e-3,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )


@pytest.fixture
def buffer() -> ReplayBuffer:
    made, rng = ReplayBuffer(300, VectorStates(400, 4, 2), 400, gamma=0.9), np.random.default_rng(0)
    made.begin(rng.normal(size=4), {}, 0)
    for _ in range(250):
        made.add(Step(rng.uniform(-1, 1, 2), 0.0, False, rng.normal(size=4), {}))
    made.end()
    return made


def actions(stack: AgentStack, row: int, states: torch.Tensor) -> torch.Tensor:
    return stack.view(row, row + 1).act(states)


def test_proximal_mutation_moves_actions_a_little_and_in_proportion(
    buffer: ReplayBuffer,
) -> None:
    states = buffer.sample(1, 64, np.random.default_rng(9)).observation.clone()

    def change(magnitude: float) -> float:
        stack = make_stack()
        before = actions(stack, 2, states)
        mutate = proximal_mutation(buffer, magnitude)
        mutate(stack, 2, EvolutionRules(), np.random.default_rng(1))
        return float((actions(stack, 2, states) - before).abs().mean())

    assert 0 < change(0.002) < 0.1
    assert change(0.002) < change(0.05) < change(0.5)


def test_proximal_mutation_leaves_the_other_agents_and_all_gradients_alone(
    buffer: ReplayBuffer,
) -> None:
    stack = make_stack()
    before = stack.actor.values.clone()
    proximal_mutation(buffer, 0.1)(stack, 2, EvolutionRules(), np.random.default_rng(1))
    others = [0, 1, 3, 4, 5]
    assert torch.equal(stack.actor.values[others], before[others])
    assert not torch.equal(stack.actor.values[2], before[2])
    assert not stack.actor.grad.any()
    assert torch.equal(stack.actor.target[2], stack.actor.values[2])


def test_distilled_child_acts_like_the_better_parent(buffer: ReplayBuffer) -> None:
    stack = make_stack()
    for row, wish in ((1, 3.0), (2, -3.0)):
        stack.actor.frozen[-1][1][row] = wish
    stack.critics[0].values.zero_()
    stack.critics[0].frozen[-1][1][1] = 1.0  # the first parent's critic rates its action higher
    states = buffer.sample(1, 64, np.random.default_rng(9)).observation.clone()
    distance = []
    cross = distillation_crossover(buffer)
    for lessons in range(8):
        cross(stack, 0, 1, 2 if lessons == 0 else 0, np.random.default_rng(lessons))
        distance.append(float((actions(stack, 0, states) - actions(stack, 1, states)).abs().mean()))
    assert distance[-1] < 0.7 * distance[0]


def test_distillation_does_not_advance_the_population_s_optimizer(buffer: ReplayBuffer) -> None:
    stack = make_stack()
    distillation_crossover(buffer)(stack, 0, 1, 2, np.random.default_rng(0))
    assert float(stack.actor.step) == 0.0
    assert not stack.actor.grad.any()


def test_novelty_is_highest_for_the_agent_that_acts_differently() -> None:
    stack = make_stack()
    for row in range(1, 6):
        stack.copy_row(row, 0)
    stack.actor.frozen[-1][1][4] += 5.0
    scores = novelty(stack, torch.randn(1, 32, 4))
    assert scores.argmax() == 4
    assert scores[4] > 0.1
    assert np.allclose(np.delete(scores, 4), 0.0, atol=1e-5)


def test_tournament_can_select_for_novelty_while_elites_stay_the_fittest() -> None:
    rules = EvolutionRules(elites=1, mutation_probability=0.0)
    kept: Counter[int] = Counter()
    for seed in range(40):
        fate = evolve(
            make_stack(),
            [5, 4, 3, 2, 1, 0],
            rules,
            np.random.default_rng(seed),
            selection=[0, 0, 0, 0, 9, 9],
        )
        assert fate.elites == [0]
        kept.update(slot for slot in range(6) if fate.operator(slot) == "kept")
    assert min(kept[4], kept[5]) > max(kept[1], kept[2], kept[3])


def test_learner_replaces_the_weakest_and_never_itself() -> None:
    stack = make_stack()
    assert sync_learner(stack, 0, [-9.0, 3.0, 1.0, 2.0, 5.0, 4.0]) == 2
    assert torch.equal(stack.actor.values[2], stack.actor.values[0])


@pytest.mark.parametrize("seed", range(3))
def test_protected_agents_neither_breed_nor_change(seed: int) -> None:
    stack = make_stack()
    before = stack.actor.values[0].clone()
    fate = evolve(
        stack, [9, 1, 2, 3, 4, 5], EvolutionRules(), np.random.default_rng(seed), protected=(0,)
    )
    assert fate.elites == [5, 4]
    assert torch.equal(stack.actor.values[0], before)
    assert fate.operator(0) == "kept"
    assert 0 not in {parent for pair in fate.parents.values() for parent in pair}


def test_probes_estimate_the_sensitivity_of_many_actions(buffer: ReplayBuffer) -> None:
    stack = make_stack(rows=2, actions=40)
    proximal_mutation(buffer, 0.05)(stack, 1, EvolutionRules(), np.random.default_rng(0))
    assert torch.isfinite(stack.actor.values).all()
