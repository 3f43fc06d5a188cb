"""Deep deterministic policy gradients (Lillicrap et al. 2016), for a whole population at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reference_trainer.fused import FusedAgents
from reference_trainer.networks import Architecture, NetworkStack, mlp
from reference_trainer.replay_buffer import Batch


@dataclass(frozen=True)
class Losses:
    """Mean losses of one gradient step, `[P]` each, without a graph."""

    critic: Tensor
    actor: Tensor


class AgentStack:
    """Actors and critics of several agents, one agent a row, trained in one pass.

    `compiled` leaves updates and answers to `FusedAgents`, where that can do them.
    """

    def __init__(
        self,
        architecture: Architecture,
        tau: float,
        actor: NetworkStack,
        critic: NetworkStack,
        *,
        saturation_penalty: float = 0.0,
        compiled: bool = True,
    ) -> None:
        self.architecture, self.tau = architecture, tau
        self.actor, self.critic = actor, critic
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
        saturation_penalty: float = 0.0,
        compiled: bool = True,
    ) -> AgentStack:
        """New agents with independent random genomes."""
        actor = NetworkStack.create(architecture.actor_sizes, rows, actor_lr, generator)
        critic = NetworkStack.create(architecture.critic_sizes, rows, critic_lr, generator)
        return cls(
            architecture,
            tau,
            actor,
            critic,
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

    # The update, algorithm 1 of the paper. `fused.py` does the same for small networks, and
    # test_fused.py holds it against these lines.

    def update(self, batches: Iterable[Batch]) -> Losses:
        """One gradient step of every agent, its gradients averaged over the batches.

        Each batch is sampled as it is reached, and used before the next one is.
        """
        losses = [self.gradients(batch) for batch in batches]
        self.descend(len(losses))
        mean = losses[0] if len(losses) == 1 else torch.stack(losses).mean(0)
        return Losses(*mean.unbind())

    def gradients(self, batch: Batch) -> Tensor:
        """Add the slopes of both losses to the gradients; the losses `[2, P]`, critics' first."""
        if self.fused:
            return self.fused.gradients(batch, self.saturation_penalty)
        critic_loss = self.critic_loss(batch, self.td_target(batch))
        self.critic.accumulate(critic_loss.sum())  # each row has weights of its own
        actor_loss = self.actor_loss(batch)
        self.actor.accumulate(actor_loss.sum())
        return torch.stack([critic_loss.detach(), actor_loss.detach()])

    def descend(self, batches: int) -> None:
        """Apply the mean gradients of so many batches by Adam; the targets follow."""
        if self.fused:
            self.fused.descend(batches, self.tau)
            return
        for network in self.networks:
            network.grad.div_(batches)
            network.apply_gradients()
            network.update_target(self.tau)

    @torch.no_grad()
    def td_target(self, batch: Batch) -> Tensor:
        """y = r + gamma Q'(s', mu'(s')), where a batch's discount is gamma (1 - terminated)."""
        action = self.architecture.actor(self.actor.target_layers, batch.next_observation)
        value = self.architecture.critic(self.critic.target_layers, batch.next_observation, action)
        return batch.reward + batch.discount * value

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """L = mean (y - Q(s, a))^2: `[P]`, with its graph."""
        value = self.architecture.critic(self.critic.live, batch.observation, batch.action)
        return (target - value).square().mean(-1)

    def actor_loss(self, batch: Batch) -> Tensor:
        """J = -mean Q(s, mu(s)): `[P]`, with its graph; the critic does not learn from it.

        And the penalty c mean z(s)^2, where mu = tanh z: gradients do not lead out of an actor
        whose answers are all -1 or 1 (as the policies of Haarnoja et al. 2018 are kept from it).
        """
        output = mlp(self.actor.live, self.architecture.actor_inputs(batch.observation))
        action = self.architecture.action(output)
        value = self.architecture.critic(self.critic.frozen, batch.observation, action)
        return self.saturation_penalty * output.square().mean((1, 2)) - value.mean(-1)

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
        return self._with(lambda network: network.view(first, last))

    def copy(self) -> AgentStack:
        """The same agents in memory of their own."""
        return self._with(NetworkStack.copy)

    def copy_row(self, target: int, source: int) -> None:
        """Row `target` becomes agent `source`: genome, targets and Adam moments, in place."""
        for network in self.networks:
            for matrix in network.followers():
                matrix[target].copy_(matrix[source])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "fused": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A deep copy has other memory, on which nothing compiled works yet."""
        vars(self).update(state)
        self.fused = self._fuse()

    def _fuse(self) -> FusedAgents | None:
        if not self.compiled:
            return None
        return FusedAgents.of(self.architecture, self.actor, self.critic)

    def _with(self, change: Callable[[NetworkStack], NetworkStack]) -> AgentStack:
        return AgentStack(
            self.architecture,
            self.tau,
            change(self.actor),
            change(self.critic),
            saturation_penalty=self.saturation_penalty,
            compiled=self.compiled,
        )
