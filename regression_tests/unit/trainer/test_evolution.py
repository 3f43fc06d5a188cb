from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import (
    EvolutionRules,
    evolve,
    gaussian_mutation,
    rank,
    row_crossover,
    tournament,
)
from reference_trainer.networks import mlp_architecture

FITNESS = [3.0, 9.0, 1.0, 7.0, 5.0, 2.0, 8.0, 0.0]


def make_stack(rows: int = 8) -> AgentStack:
    stack = AgentStack.create(
        mlp_architecture(4, 2, (8, 8)),
        rows,
        tau=0.005,
        actor_lr=1e-3,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )
    for network in stack.networks:
        for matrix in network.followers():
            matrix.normal_(generator=torch.Generator().manual_seed(7)).abs_()
    return stack


def genome(stack: AgentStack, row: int) -> list[torch.Tensor]:
    return [m[row].clone() for network in stack.networks for m in network.followers()]


def same(one: list[torch.Tensor], two: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_ranking_is_best_first_and_stable() -> None:
    assert rank(FITNESS) == [1, 6, 3, 4, 0, 5, 2, 7]
    assert rank([1.0, 1.0, 2.0]) == [2, 0, 1]


def test_tournament_prefers_the_fit() -> None:
    rng = np.random.default_rng(0)
    winners = Counter(w for _ in range(300) for w in tournament(rank(FITNESS), 3, 3, rng))
    assert winners[1] > winners[3] > winners[0] > winners[7]


@pytest.mark.parametrize("seed", range(5))
def test_elites_survive_bit_for_bit(seed: int) -> None:
    stack = make_stack()
    before = [genome(stack, row) for row in range(8)]
    fate = evolve(stack, FITNESS, EvolutionRules(elites=2), np.random.default_rng(seed))
    assert fate.elites == [1, 6]
    for elite in fate.elites:
        assert same(genome(stack, elite), before[elite])
    for slot, elite in fate.replaced.items():
        assert same(genome(stack, slot), before[elite])


def test_targets_and_adam_moments_follow_the_copied_genome() -> None:
    stack = make_stack()
    stack.copy_row(0, 5)
    assert same(genome(stack, 0), genome(stack, 5))


def test_every_slot_has_a_fate() -> None:
    stack = make_stack()
    rules = EvolutionRules(elites=2, mutation_probability=1.0)
    fate = evolve(stack, FITNESS, rules, np.random.default_rng(3))
    untouched = {*fate.elites, *fate.replaced}
    assert sorted({*untouched, *fate.mutated}) == list(range(8))
    assert not untouched & {*fate.mutated}


def test_evolution_allocates_no_second_population() -> None:
    stack = make_stack()
    pointers = [m.data_ptr() for network in stack.networks for m in network.followers()]
    evolve(stack, FITNESS, EvolutionRules(), np.random.default_rng(0))
    assert pointers == [m.data_ptr() for network in stack.networks for m in network.followers()]


def test_child_has_only_whole_neurons_of_its_parents() -> None:
    stack = make_stack()
    row_crossover(stack, 0, 1, 2, np.random.default_rng(1))
    taken = 0
    for weight, bias in stack.actor.frozen:
        for neuron in range(weight.shape[1]):
            origins = [
                parent
                for parent in (1, 2)
                if torch.equal(weight[0, neuron], weight[parent, neuron])
                and bias[0, 0, neuron] == bias[parent, 0, neuron]
            ]
            assert len(origins) == 1
            taken += origins == [2]
    assert taken > 0


def test_adam_moments_of_a_child_come_with_its_neurons() -> None:
    stack = make_stack()
    for row in range(8):
        stack.actor.values[row] = stack.actor.exp_avg[row] = stack.actor.exp_avg_sq[row] = row
    row_crossover(stack, 0, 1, 2, np.random.default_rng(1))
    assert torch.equal(stack.actor.values[0], stack.actor.exp_avg[0])
    assert torch.equal(stack.actor.values[0], stack.actor.exp_avg_sq[0])
    assert set(stack.actor.values[0].tolist()) == {1.0, 2.0}


def test_child_that_overwrites_its_parent_still_mixes_both() -> None:
    stack = make_stack()
    for row in range(8):
        stack.actor.values[row] = row
    row_crossover(stack, 4, 3, 4, np.random.default_rng(1))
    assert set(stack.actor.values[4].tolist()) == {3.0, 4.0}
    assert (stack.actor.values[3] == 3).all()


def test_a_new_genome_starts_with_itself_as_target() -> None:
    stack = make_stack()
    row_crossover(stack, 0, 1, 2, np.random.default_rng(0))
    assert torch.equal(stack.actor.target[0], stack.actor.values[0])
    gaussian_mutation(stack, 3, EvolutionRules(), np.random.default_rng(0))
    assert torch.equal(stack.actor.target[3], stack.actor.values[3])


def test_mutation_changes_at_most_a_tenth_of_one_agents_weights() -> None:
    stack = make_stack()
    before = stack.actor.values.clone()
    shares = []
    for seed in range(20):
        stack.actor.values.copy_(before)
        gaussian_mutation(stack, 2, EvolutionRules(), np.random.default_rng(seed))
        changed = stack.actor.values != before
        assert not changed[[0, 1, 3, 4, 5, 6, 7]].any()
        shares.append(float(changed[2].float().mean()))
    assert 0 < max(shares) <= 0.1


def test_normal_mutation_is_proportional_and_reset_forgets() -> None:
    stack = make_stack()
    stack.actor.values[2] = 1000.0
    normal = EvolutionRules(super_mutation_probability=0.0, reset_mutation_probability=0.0)
    for seed in range(10):
        gaussian_mutation(stack, 2, normal, np.random.default_rng(seed))
    assert stack.actor.values[2].min() > 200
    reset = EvolutionRules(super_mutation_probability=0.0, reset_mutation_probability=1.0)
    for seed in range(10):
        gaussian_mutation(stack, 2, reset, np.random.default_rng(seed))
    assert stack.actor.values[2].min() < 10


def test_critics_are_not_mutated() -> None:
    stack = make_stack()
    before = stack.critic.values.clone()
    gaussian_mutation(stack, 2, EvolutionRules(), np.random.default_rng(0))
    assert torch.equal(stack.critic.values, before)
