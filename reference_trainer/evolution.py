"""The evolutionary half of ERL (Khadka & Tumer 2018), in place.

Nothing is cloned: agents that lose their slot are written over, row by row, and targets and
Adam moments travel with the genome. Elites are never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import NetworkStack, layer_views

WEIGHT_LIMIT = 1e6


@dataclass(frozen=True)
class EvolutionRules:
    """Probabilities and strengths of the operators, as in the paper's appendix."""

    elites: int = 2
    tournament_size: int = 3
    crossover_probability: float = 0.0
    mutation_probability: float = 0.9
    mutation_fraction: float = 0.1
    mutation_strength: float = 0.1
    super_mutation_strength: float = 10.0
    super_mutation_probability: float = 0.05
    reset_mutation_probability: float = 0.05


Crossover = Callable[[AgentStack, int, int, int, np.random.Generator], None]
Mutation = Callable[[AgentStack, int, EvolutionRules, np.random.Generator], None]


@dataclass
class Fate:
    """What became of each slot in one generation."""

    elites: list[int]
    parents: dict[int, tuple[int, int]] = field(default_factory=dict)
    replaced: dict[int, int] = field(default_factory=dict)
    mutated: list[int] = field(default_factory=list)

    def operator(self, slot: int) -> str:
        """What made the agent of a slot: elite, copy, crossover, mutation, both, or nothing."""
        if slot in self.elites:
            return "elite"
        if slot in self.replaced:
            return "copy"
        applied = [
            name
            for name, slots in (("crossover", self.parents), ("mutation", self.mutated))
            if slot in slots
        ]
        return "+".join(applied) or "kept"


def rank(fitnesses: Sequence[float]) -> list[int]:
    """Slots from best to worst; ties go to the lower slot."""
    return sorted(range(len(fitnesses)), key=lambda slot: (-fitnesses[slot], slot))


def tournament(
    ranking: Sequence[int], rounds: int, size: int, rng: np.random.Generator
) -> list[int]:
    """Distinct winners of `rounds` tournaments of `size` random slots."""
    draws = rng.integers(len(ranking), size=(rounds, size)).min(axis=1)
    return sorted({ranking[place] for place in draws})


def evolve(
    stack: AgentStack,
    fitnesses: Sequence[float],
    rules: EvolutionRules,
    rng: np.random.Generator,
    *,
    crossover: Crossover | None = None,
    mutate: Mutation | None = None,
) -> Fate:
    """One generation: elites, tournament, crossover into free slots, mutation of the rest."""
    crossover = crossover or row_crossover
    mutate = mutate or gaussian_mutation
    ranking = rank(fitnesses)
    fate = Fate(elites=ranking[: rules.elites])
    offspring = tournament(ranking, len(ranking) - rules.elites, rules.tournament_size, rng)
    offspring = [slot for slot in offspring if slot not in fate.elites]
    free = [slot for slot in sorted(ranking) if slot not in {*fate.elites, *offspring}]
    _copy_elites(stack, fate, free)
    for slot in free:
        first = int(rng.choice(fate.elites))
        second = int(rng.choice(offspring or fate.elites))
        crossover(stack, slot, first, second, rng)
        fate.parents[slot] = (first, second)
    for first, second in zip(offspring[::2], offspring[1::2], strict=False):
        if rng.random() < rules.crossover_probability:
            crossover(stack, second, first, second, rng)
            fate.parents[second] = (first, second)
    for slot in sorted({*offspring, *free}):
        if rng.random() < rules.mutation_probability:
            mutate(stack, slot, rules, rng)
            fate.mutated.append(slot)
    return fate


def _copy_elites(stack: AgentStack, fate: Fate, free: list[int]) -> None:
    """Each elite is copied over one unselected agent, while there are any."""
    for elite in fate.elites:
        # One free slot stays for an offspring of elite and tournament winner.
        if len(free) <= 1:
            return
        slot = free.pop()
        stack.copy_row(slot, elite)
        fate.replaced[slot] = elite


def row_crossover(
    stack: AgentStack, child: int, first: int, second: int, rng: np.random.Generator
) -> None:
    """The child is the first parent with some neurons of the second one's actor.

    A neuron is one row of a weight matrix together with its bias. Up to half of the rows of
    each layer change hands, and their Adam moments with them.
    """
    if child == second:
        # Read the second parent before it is written over: swap the roles.
        first, second = second, first
    elif child != first:
        stack.copy_row(child, first)
    actor = stack.actor
    genome = (actor.values, actor.exp_avg, actor.exp_avg_sq)
    for same_layer in zip(*(layer_views(matrix, actor.sizes) for matrix in genome), strict=True):
        neurons = same_layer[0][0].shape[1]
        count = int(rng.integers(neurons // 2 + 1))
        chosen = torch.from_numpy(rng.permutation(neurons)[:count])
        for weight, bias in same_layer:
            weight[child, chosen] = weight[second, chosen]
            bias[child, 0, chosen] = bias[second, 0, chosen]
    settle_target(stack.actor, child)


def gaussian_mutation(
    stack: AgentStack, slot: int, rules: EvolutionRules, rng: np.random.Generator
) -> None:
    """Change up to a tenth of each weight matrix: mostly a little, rarely a lot, rarely anew.

    Per chosen entry: with `super_mutation_probability` W += N(0, 10 |W|), with
    `reset_mutation_probability` W = N(0, 1), else W += N(0, 0.1 |W|).
    """
    for weight, _ in stack.actor.frozen:
        matrix = weight[slot].view(-1)
        if rng.random() > rng.uniform(0, 2):
            continue
        most = max(1, int(rules.mutation_fraction * matrix.numel()))
        count = int(rng.integers(most + 1))
        entries = rng.integers(matrix.numel(), size=count)
        mutated = _mutated(matrix[torch.from_numpy(entries)], rules, rng)
        matrix.numpy()[entries] = mutated.numpy()  # of an entry drawn twice the last one stays
    settle_target(stack.actor, slot)


def _mutated(values: Tensor, rules: EvolutionRules, rng: np.random.Generator) -> Tensor:
    # Tensors, since NumPy keeps freed arrays of every small size there ever was: some MB in time.
    draw = torch.from_numpy(rng.random(values.numel()))
    noise = torch.from_numpy(rng.standard_normal(values.numel()))
    is_super = draw < rules.super_mutation_probability
    is_reset = ~is_super & (
        draw < rules.super_mutation_probability + rules.reset_mutation_probability
    )
    strength = torch.full_like(draw, rules.mutation_strength)
    strength[is_super] = rules.super_mutation_strength
    changed = torch.where(is_reset, noise, values + noise * strength * values.abs())
    return changed.clamp(-WEIGHT_LIMIT, WEIGHT_LIMIT).to(values.dtype)


def settle_target(network: NetworkStack, slot: int) -> None:
    """A new genome starts with itself as its target."""
    network.target[slot].copy_(network.values[slot])
