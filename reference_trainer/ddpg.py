"""Deep deterministic policy gradients (Lillicrap et al. 2016), for a whole population at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reference_trainer.fused import FusedAgents
from reference_trainer.networks import Architecture, NetworkStack, backward, forward
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

    # The update, algorithm 1 of the paper; a batch is discounted by gamma (1 - terminated).

    def update(self, batches: Iterable[Batch]) -> Losses:
        """One gradient step of every agent, its gradients averaged over the batches.

        Each batch is sampled as it is reached, and used before the next one is.
        """
        losses = [self.gradients(batch) for batch in batches]
        self.descend(len(losses))
        return Losses(*(losses[0] if len(losses) == 1 else torch.stack(losses).mean(0)))

    def gradients(self, batch: Batch) -> Tensor:
        """Add the slopes of both losses to the gradients; the losses `[2, P]`, critics' first."""
        if self.fused:
            return self.fused.gradients(batch, self.saturation_penalty)
        return torch.stack([self.critic_gradient(batch), self.actor_gradient(batch)])

    def descend(self, batches: int) -> None:
        """Apply the mean gradients of so many batches; the targets follow."""
        if self.fused:
            self.fused.descend(batches, self.tau)
            return
        for network in self.networks:
            network.grad.div_(batches)
            network.apply_gradients()
            network.update_target(self.tau)

    def td_target(self, batch: Batch) -> Tensor:
        """y = r + gamma Q'(s', mu'(s')): `[P, B]`."""
        action = self.architecture.actor(self.actor.target_layers, batch.next_observation)
        value = self.architecture.critic(self.critic.target_layers, batch.next_observation, action)
        return torch.addcmul(batch.reward, batch.discount, value)

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """L = mean (y - Q(s, a))^2: `[P]`, with its graph."""
        value = self.architecture.critic(self.critic.live, batch.observation, batch.action)
        return (value - target).square().mean(-1)

    def actor_loss(self, batch: Batch) -> Tensor:
        """J = -mean Q(s, mu(s)): `[P]`, with its graph; the critic does not learn from it.

        And the penalty c mean z(s)^2, where mu = tanh z: gradients do not lead out of an actor
        whose answers are all -1 or 1 (as the policies of Haarnoja et al. 2018 are kept from it).
        """
        output, _ = forward(self.actor.live, self.architecture.actor_inputs(batch.observation))
        value = self.architecture.critic(
            self.critic.frozen, batch.observation, self.architecture.action(output)
        )
        return self.saturation_penalty * output.square().mean((1, 2)) - value.mean(-1)

    @torch.inference_mode()
    def critic_gradient(self, batch: Batch) -> Tensor:
        """Add the slope of `critic_loss` to the critics' gradients; the loss `[P]`."""
        target, layers = self.td_target(batch), self.critic.frozen
        output, read = forward(
            layers, self.architecture.critic_inputs(batch.observation, batch.action)
        )
        parts = output.view(*target.shape, -1)
        error = parts.sum(-1) - target
        slope = (error * (2 / target.shape[1])).unsqueeze(-1).expand_as(parts)
        backward(layers, read, slope.reshape(output.shape), self.critic.grad_layers)
        return error.square().mean(-1)

    @torch.inference_mode()
    def actor_gradient(self, batch: Batch) -> Tensor:
        """Add the slope of `actor_loss` to the actors' gradients; the loss `[P]`."""
        architecture, size = self.architecture, batch.reward.shape[1]
        output, seen = forward(self.actor.frozen, architecture.actor_inputs(batch.observation))
        action = architecture.action(output)
        value, read = forward(
            self.critic.frozen, architecture.critic_inputs(batch.observation, action)
        )
        slope = backward(self.critic.frozen, read, torch.full_like(value, -1 / size))
        columns = action.numel() // value[..., 0].numel()
        # Where an action was set to -1, the slope of tanh is 0 as well.
        slope = torch.ops.aten.tanh_backward(slope[..., -columns:].reshape(action.shape), action)
        slope = slope.view(output.shape)
        loss = value.view(len(value), -1).sum(-1) / -size
        if self.saturation_penalty:
            loss += self.saturation_penalty * output.square().mean((1, 2))
            slope = slope + output * (2 * self.saturation_penalty / output[0].numel())
        backward(self.actor.frozen, seen, slope, self.actor.grad_layers)
        return loss

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
