"""Deep deterministic policy gradients (Lillicrap et al. 2016), for a whole population at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reference_trainer.fused import FusedAgents
from reference_trainer.networks import Architecture, Layers, NetworkStack, mlp
from reference_trainer.replay_buffer import Batch

#: TD3 (Fujimoto et al. 2018, section 6.1): the standard deviation of the noise on the actions of
#: targets and where it is cut, and the steps of critics to one of their actor.
SMOOTHING, MOST_SMOOTHING, ACTOR_DELAY = 0.2, 0.5, 2


@dataclass(frozen=True)
class Losses:
    """Mean losses of one gradient step, `[P]` each, without a graph."""

    critic: Tensor
    actor: Tensor


class AgentStack:
    """Actors and critics of several agents, one agent a row, trained in one pass.

    An agent has one critic (DDPG), or several in neighbouring rows of the critics' stack (TD3).
    `compiled` leaves updates and answers to `FusedAgents`, where that can do them.
    """

    def __init__(
        self,
        architecture: Architecture,
        tau: float,
        actor: NetworkStack,
        critic: NetworkStack,
        *,
        critics: int = 1,
        saturation_penalty: float = 0.0,
        compiled: bool = True,
    ) -> None:
        self.architecture, self.tau = architecture, tau
        self.actor, self.critic = actor, critic
        self.critics = critics
        self.saturation_penalty, self.compiled = saturation_penalty, compiled
        self.fused = self._fuse()

    @classmethod
    def create(
        cls,
        architecture: Architecture,
        rows: int,
        *,
        tau: float,
        actor_lr: float,
        critic_lr: float,
        generator: torch.Generator,
        critics: int = 1,
        saturation_penalty: float = 0.0,
        compiled: bool = True,
    ) -> AgentStack:
        """New agents with independent random genomes."""
        actor = NetworkStack.create(architecture.actor_sizes, rows, actor_lr, generator)
        critic = NetworkStack.create(
            architecture.critic_sizes, rows * critics, critic_lr, generator
        )
        return cls(
            architecture,
            tau,
            actor,
            critic,
            critics=critics,
            saturation_penalty=saturation_penalty,
            compiled=compiled,
        )

    @torch.inference_mode()
    def act(self, observations: Tensor) -> Tensor:
        """Noise-free actions of all agents: `[P, B, O]` to `[P, B, A]`."""
        return self.architecture.actor(self.actor.frozen, observations)

    def answer(self, observation: np.ndarray) -> np.ndarray:
        """Noise-free action `[A]` of the only agent for one observation `[O]`."""
        if self.fused:
            return self.fused.act(observation)
        return self.act(torch.from_numpy(observation).view(1, 1, -1)).numpy().reshape(-1)

    # The update, algorithm 1 of the paper; with two critics that of TD3 (Fujimoto et al. 2018).
    # `fused.py` does the same for small networks, and test_fused.py holds it against these lines.

    def update(self, batches: Iterable[Batch], generator: torch.Generator | None = None) -> Losses:
        """One gradient step of every agent, its gradients averaged over the batches.

        Each batch is sampled as it is reached, and used before the next one is. `generator` draws
        the noise on the targets' actions, which several critics need.
        """
        losses = [self.gradients(batch, self.smoothing(batch, generator)) for batch in batches]
        self.descend(len(losses))
        mean = losses[0] if len(losses) == 1 else torch.stack(losses).mean(0)
        return Losses(*mean.unbind())

    def gradients(self, batch: Batch, noise: Tensor | None = None) -> Tensor:
        """Add the slopes of both losses to the gradients; the losses `[2, P]`, critics' first."""
        learns = self.actor_learns
        if self.fused:
            return self.fused.gradients(batch, self.saturation_penalty, noise, actors_learn=learns)
        critic_loss = self.critic_loss(batch, self.td_target(batch, noise))
        self.critic.accumulate(critic_loss.sum())  # each row has weights of its own
        with torch.set_grad_enabled(learns):
            actor_loss = self.actor_loss(batch)
        if learns:
            self.actor.accumulate(actor_loss.sum())
        return torch.stack([critic_loss.detach(), actor_loss.detach()])

    def descend(self, batches: int) -> None:
        """Apply the mean gradients of so many batches by Adam; the targets follow the actor."""
        learns = self.actor_learns
        tau = self.tau if learns else 0.0
        for network in self.networks if learns else (self.critic,):
            if self.fused:
                self.fused.descend(network, batches, tau)
                continue
            network.grad.div_(batches)
            network.apply_gradients()
            network.update_target(tau)

    @property
    def actor_learns(self) -> bool:
        """Whether actors learn in this step: of several critics in each second one, as in TD3."""
        return self.critics == 1 or int(self.critic.step) % ACTOR_DELAY == 0

    def smoothing(self, batch: Batch, generator: torch.Generator | None) -> Tensor | None:
        """Clipped noise on the targets' actions `[P, B, A]`; None for one critic, as in DDPG."""
        if self.critics == 1:
            return None
        noise = torch.empty_like(batch.action).normal_(0.0, SMOOTHING, generator=generator)
        return noise.clamp_(-MOST_SMOOTHING, MOST_SMOOTHING)

    @torch.no_grad()
    def td_target(self, batch: Batch, noise: Tensor | None = None) -> Tensor:
        """y = r + gamma Q'(s', mu'(s')), where a batch's discount is gamma (1 - terminated).

        Of several critics it is the lowest Q', at an action with the noise of TD3.
        """
        action = self.architecture.actor(self.actor.target_layers, batch.next_observation)
        if noise is not None:
            action = (action + noise).clamp_(-1.0, 1.0)
        values = self.values(self.critic.target_layers, batch.next_observation, action)
        return batch.reward + batch.discount * values.amin(1)

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """L = mean (y - Q(s, a))^2, the sum of an agent's critics: `[P]`, with its graph."""
        values = self.values(self.critic.live, batch.observation, batch.action)
        return (target.unsqueeze(1) - values).square().mean(-1).sum(-1)

    def actor_loss(self, batch: Batch) -> Tensor:
        """J = -mean Q(s, mu(s)): `[P]`, with its graph; the critic does not learn from it.

        And the penalty c mean z(s)^2, where mu = tanh z: gradients do not lead out of an actor
        whose answers are all -1 or 1 (as the policies of Haarnoja et al. 2018 are kept from it).
        """
        output = mlp(self.actor.live, self.architecture.actor_inputs(batch.observation))
        value = self.value(batch.observation, self.architecture.action(output))
        return self.saturation_penalty * output.square().mean((1, 2)) - value.mean(-1)

    def value(self, observation: Tensor, action: Tensor) -> Tensor:
        """Q of each agent's first critic: `[P, B]`."""
        first = [
            (weight[:: self.critics], bias[:: self.critics]) for weight, bias in self.critic.frozen
        ]
        return self.architecture.critic(first, observation, action)

    def values(self, layers: Layers, observation: Tensor, action: Tensor) -> Tensor:
        """Q of each critic of each agent, of these layers: `[P, C, B]`."""
        read = (observation, action)
        if self.critics > 1:
            read = tuple(part.repeat_interleave(self.critics, 0) for part in read)
        return self.architecture.critic(layers, *read).unflatten(0, (-1, self.critics))

    # Rows: one a member.

    @property
    def rows(self) -> int:
        """How many agents there are."""
        return self.actor.rows

    @property
    def networks(self) -> tuple[NetworkStack, NetworkStack]:
        """The actor stack and the critic stack."""
        return (self.actor, self.critic)

    def view(self, first: int, last: int) -> AgentStack:
        """The agents `first..last-1`, in the same memory."""
        c = self.critics
        return self._with(self.actor.view(first, last), self.critic.view(first * c, last * c))

    def copy(self) -> AgentStack:
        """The same agents in memory of their own."""
        return self._with(self.actor.copy(), self.critic.copy())

    def copy_row(self, target: int, source: int) -> None:
        """Row `target` becomes agent `source`: genome, targets and Adam moments, in place."""
        for network, each in zip(self.networks, (1, self.critics), strict=True):
            to, by = (slice(row * each, (row + 1) * each) for row in (target, source))
            for matrix in network.followers():
                matrix[to].copy_(matrix[by])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "fused": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A deep copy has other memory, on which nothing compiled works yet."""
        vars(self).update(state)
        self.fused = self._fuse()

    def _fuse(self) -> FusedAgents | None:
        if not self.compiled:
            return None
        return FusedAgents.of(self.architecture, self.actor, self.critic, self.critics)

    def _with(self, actor: NetworkStack, critic: NetworkStack) -> AgentStack:
        return AgentStack(
            self.architecture,
            self.tau,
            actor,
            critic,
            critics=self.critics,
            saturation_penalty=self.saturation_penalty,
            compiled=self.compiled,
        )
