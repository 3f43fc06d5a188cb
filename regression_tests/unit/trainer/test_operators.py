from __future__ import annotations

import numpy as np
import pytest
import torch

from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import EvolutionRules
from reference_trainer.methods.pderl import distillation_crossover, proximal_mutation
from reference_trainer.networks import mlp_architecture
from reference_trainer.replay_buffer import ReplayBuffer, Step
from reference_trainer.state_storage import VectorStates


def make_stack(rows: int = 6, actions: int = 2) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(4, actions, (16, 16)),
        rows,
        tau=0.005,
        actor_lr=3e-3,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )


def filled(transitions: int) -> ReplayBuffer:
    rows, rng = transitions + 10, np.random.default_rng(0)
    made = ReplayBuffer(transitions, VectorStates(rows, 4, 2), rows, gamma=0.9)
    made.begin(rng.normal(size=4), {})
    for _ in range(transitions):
        made.add(Step(rng.uniform(-1, 1, 2), 0.0, False, rng.normal(size=4), {}))
    return made


@pytest.fixture
def buffer() -> ReplayBuffer:
    return filled(250)


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


def test_distilled_child_acts_like_the_better_parent() -> None:
    stack, buffer = make_stack(), filled(4_000)
    for row, wish in ((1, 1.0), (2, -1.0)):
        stack.actor.frozen[-1][1][row] = wish
    stack.critic.values.zero_()
    stack.critic.frozen[-1][1][1] = 1.0  # the first parent's critic rates its action higher
    states = buffer.sample(1, 64, np.random.default_rng(9)).observation.clone()

    def apart(one: int, other: int) -> float:
        return float((actions(stack, one, states) - actions(stack, other, states)).abs().mean())

    distillation_crossover(buffer)(stack, 0, 1, 2, np.random.default_rng(0))
    assert apart(0, 1) < 0.1 * apart(2, 1)


def test_distillation_does_not_advance_the_population_s_optimizer(buffer: ReplayBuffer) -> None:
    stack = make_stack()
    distillation_crossover(buffer)(stack, 0, 1, 2, np.random.default_rng(0))
    assert float(stack.actor.step) == 0.0
    assert not stack.actor.grad.any()


def test_probes_estimate_the_sensitivity_of_many_actions(buffer: ReplayBuffer) -> None:
    stack = make_stack(rows=2, actions=40)
    proximal_mutation(buffer, 0.05)(stack, 1, EvolutionRules(), np.random.default_rng(0))
    assert torch.isfinite(stack.actor.values).all()
