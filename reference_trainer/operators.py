"""Operators that look at what an agent does, not only at its weights.

After PDERL (Bodnar, Day & Lio, AAAI 2020).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import Crossover, EvolutionRules, Mutation, settle_target
from reference_trainer.networks import NetworkStack
from reference_trainer.replay_buffer import ReplayBuffer

DISTILLATION_STEPS = 12
DISTILLATION_BATCH = 128
PROXIMAL_BATCH = 256
#: Sensitivities below this would let a weight that does nothing move without bound.
LEAST_SENSITIVITY = 0.01
#: With more actions than this, random sums of actions estimate the same sensitivity.
PROBES = 32


def proximal_mutation(buffer: ReplayBuffer, magnitude: float) -> Mutation:
    """Mutate every weight in proportion to how little the actions depend on it.

    delta ~ N(0, magnitude), divided by s = sqrt(sum_k (sum_i d mu_k(s_i) / d theta)^2) over the
    actions k and a batch of states i (PDERL, algorithm 3; safe mutation of Lehman et al. 2018).
    """

    def mutate(
        stack: AgentStack, slot: int, rules: EvolutionRules, rng: np.random.Generator
    ) -> None:
        states = buffer.sample(1, PROXIMAL_BATCH, rng).observation
        actor = stack.actor.view(slot, slot + 1)
        sensitivity = _sensitivity(stack, actor, states, rng)
        step = magnitude * rng.standard_normal(sensitivity.shape).astype(np.float32)
        actor.values.add_(torch.from_numpy(step) / sensitivity)
        settle_target(stack.actor, slot)

    return mutate


def _sensitivity(
    stack: AgentStack, actor: NetworkStack, states: Tensor, rng: np.random.Generator
) -> Tensor:
    actions = stack.architecture.actor(actor.live, states).sum(dim=(0, 1))
    if len(actions) > PROBES:
        # E[(sum_k r_k g_k)^2] = sum_k g_k^2 for independent signs r (Hutchinson 1990).
        signs = rng.choice([-1.0, 1.0], (PROBES, len(actions))).astype(np.float32)
        actions = torch.from_numpy(signs) @ actions / PROBES**0.5
    total = torch.zeros_like(actor.values)
    for action in actions:
        actor.accumulate(action, retain_graph=True)
        total += actor.grad.square()
        actor.grad.zero_()
    sensitivity = total.sqrt_()
    # A weight without any effect here (a dead unit) gets the plain magnitude.
    sensitivity[sensitivity == 0.0] = 1.0
    return sensitivity.clamp_(min=LEAST_SENSITIVITY)


def distillation_crossover(buffer: ReplayBuffer) -> Crossover:
    """The child learns, state by state, the action of the parent whose critic rates it higher.

    It starts as the second parent and imitates by gradient descent on shared experience (PDERL,
    algorithm 2; the parents' own critics stand in for PDERL's single one).
    """

    def cross(
        stack: AgentStack, child: int, first: int, second: int, rng: np.random.Generator
    ) -> None:
        parents = [stack.view(row, row + 1).copy() for row in (first, second)]
        stack.copy_row(child, second)
        pupil = stack.actor.view(child, child + 1)
        # The optimizer counts its own steps; this one must not advance the population's.
        pupil.step = torch.zeros(())
        pupil.exp_avg.zero_()
        pupil.exp_avg_sq.zero_()
        for _ in range(DISTILLATION_STEPS):
            states = buffer.sample(1, DISTILLATION_BATCH, rng).observation
            lesson = _better_actions(parents, states)
            answer = stack.architecture.actor(pupil.live, states)
            pupil.accumulate((answer - lesson).square().sum(-1).mean())
            pupil.apply_gradients()
        settle_target(stack.actor, child)

    return cross


@torch.no_grad()
def _better_actions(parents: list[AgentStack], states: Tensor) -> Tensor:
    actions = [p.architecture.actor(p.actor.frozen, states) for p in parents]
    values = [
        parent.architecture.critic(parent.critics[0].frozen, states, action)
        for parent, action in zip(parents, actions, strict=True)
    ]
    return torch.where((values[0] > values[1]).unsqueeze(-1), actions[0], actions[1])


@torch.no_grad()
def novelty(stack: AgentStack, states: Tensor, neighbours: int = 3) -> np.ndarray:
    """How differently each agent acts from its nearest neighbours on the same states: `[P]`.

    The mean distance of actions to the `neighbours` closest agents (Lehman & Stanley 2011).
    """
    shared = states[:1].expand(stack.rows, -1, -1)
    actions = stack.architecture.actor(stack.actor.frozen, shared).flatten(1)
    distances = torch.cdist(actions, actions) / actions.shape[1] ** 0.5
    nearest = distances.sort(dim=1).values[:, 1 : neighbours + 1]
    return nearest.mean(dim=1).numpy()


def sync_learner(stack: AgentStack, learner: int, fitnesses: list[float]) -> int:
    """Copy the learner over the weakest agent (ERL's injection); returns the slot it took."""
    weakest = min(
        (slot for slot in range(len(fitnesses)) if slot != learner),
        key=lambda slot: fitnesses[slot],
    )
    stack.copy_row(weakest, learner)
    return weakest
