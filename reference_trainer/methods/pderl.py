"""PDERL: ERL with operators that look at what an agent does, not only at its weights.

After Bodnar, Day & Lio (AAAI 2020).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reference_trainer.ddpg import AgentStack
from reference_trainer.evolution import Crossover, EvolutionRules, Mutation, settle_target
from reference_trainer.methods.erl import ERL
from reference_trainer.networks import NetworkStack
from reference_trainer.replay_buffer import ReplayBuffer

#: Transitions that show what agents do now: the paper's genetic memory, here of all of them.
GENETIC_MEMORY = 8_000
#: Times that a child goes through as many states as that.
DISTILLATION_EPOCHS = 12
DISTILLATION_BATCH = 128
PROXIMAL_BATCH = 256
#: Standard deviation of a weight's change before it is divided by its sensitivity.
PROXIMAL_MAGNITUDE = 0.05
#: Sensitivities below this would let a weight that does nothing move without bound.
LEAST_SENSITIVITY = 0.01
#: With more actions than this, random sums of actions estimate the same sensitivity.
PROBES = 32


class PDERL(ERL):
    """ERL with distillation crossover and proximal mutation."""

    def crossover(self) -> Crossover:
        """The child imitates the better action of its parents, as the learner's critic sees it."""
        return distillation_crossover(self.buffer, self.population.judge)

    def mutation(self) -> Mutation:
        """Weights change by as little as the actions depend on them."""
        return proximal_mutation(self.buffer)


def proximal_mutation(buffer: ReplayBuffer, magnitude: float = PROXIMAL_MAGNITUDE) -> Mutation:
    """Mutate every weight in proportion to how little the actions depend on it.

    delta ~ N(0, magnitude), divided by s = sqrt(sum_k (sum_i d mu_k(s_i) / d theta)^2) over the
    actions k and a batch of states i (PDERL, algorithm 3; safe mutation of Lehman et al. 2018).
    """

    def mutate(
        stack: AgentStack, slot: int, rules: EvolutionRules, rng: np.random.Generator
    ) -> None:
        states = buffer.sample(1, PROXIMAL_BATCH, rng, newest=GENETIC_MEMORY).observation
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


def distillation_crossover(buffer: ReplayBuffer, judge: AgentStack | None = None) -> Crossover:
    """The child learns, state by state, the action of the parent whose critic rates it higher.

    It starts as the second parent and imitates by gradient descent on what was played last, with a
    little against large actions (PDERL, algorithm 2). Without a `judge`, whose critic rates both,
    the parents have critics of their own.
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
        batches = max(min(len(buffer), GENETIC_MEMORY) // DISTILLATION_BATCH, 1)
        for _ in range(DISTILLATION_EPOCHS * batches):
            batch = buffer.sample(1, DISTILLATION_BATCH, rng, newest=GENETIC_MEMORY)
            states = batch.observation
            lesson = _better_actions(parents, [judge or parent for parent in parents], states)
            answer = stack.architecture.actor(pupil.live, states)
            unlike = (answer - lesson).square().sum(-1).mean()
            pupil.accumulate(unlike + answer.square().mean() / DISTILLATION_BATCH)
            pupil.apply_gradients()
        settle_target(stack.actor, child)

    return cross


@torch.no_grad()
def _better_actions(parents: list[AgentStack], judges: list[AgentStack], states: Tensor) -> Tensor:
    actions = [p.architecture.actor(p.actor.frozen, states) for p in parents]
    values = [judge.value(states, action) for judge, action in zip(judges, actions, strict=True)]
    return torch.where((values[0] > values[1]).unsqueeze(-1), actions[0], actions[1])
