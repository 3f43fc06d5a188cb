"""Deep deterministic policy gradients (Lillicrap et al. 2016), for a whole population at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from reference_trainer.networks import Architecture, NetworkStack
from reference_trainer.replay_buffer import Batch


@dataclass(frozen=True)
class Losses:
    """Mean losses of one gradient step, `[P]` each, without a graph."""

    critic: Tensor
    actor: Tensor


class AgentStack:
    """Actors and critics of several agents, one agent a row, trained in one pass."""

    def __init__(
        self, architecture: Architecture, tau: float, actor: NetworkStack, critic: NetworkStack
    ) -> None:
        self.architecture, self.tau = architecture, tau
        self.actor, self.critic = actor, critic

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
    ) -> AgentStack:
        """New agents with independent random genomes."""
        actor = NetworkStack.create(architecture.actor_sizes, rows, actor_lr, generator)
        critic = NetworkStack.create(architecture.critic_sizes, rows, critic_lr, generator)
        return cls(architecture, tau, actor, critic)

    @torch.inference_mode()
    def act(self, observations: Tensor) -> Tensor:
        """Noise-free actions of all agents: `[P, B, O]` to `[P, B, A]`."""
        return self.architecture.actor(self.actor.frozen, observations)

    # The update, algorithm 1 of the paper; a batch is discounted by gamma (1 - terminated).

    def update(self, batches: Iterable[Batch]) -> Losses:
        """One gradient step of every agent, its gradients averaged over the batches.

        Each batch is sampled as it is reached, and used before the next one is.
        """
        critic_losses, actor_losses = [], []
        for batch in batches:
            critic_loss = self.critic_loss(batch, self.td_target(batch))
            self.critic.accumulate(critic_loss.sum())
            actor_loss = self.actor_loss(batch)
            self.actor.accumulate(actor_loss.sum())
            critic_losses.append(critic_loss.detach())
            actor_losses.append(actor_loss.detach())
        for network in self.networks:
            network.grad.div_(len(critic_losses))
            network.apply_gradients()
            network.update_target(self.tau)
        return Losses(torch.stack(critic_losses).mean(0), torch.stack(actor_losses).mean(0))

    @torch.no_grad()
    def td_target(self, batch: Batch) -> Tensor:
        """y = r + gamma Q'(s', mu'(s')): `[P, B]`."""
        action = self.architecture.actor(self.actor.target_layers, batch.next_observation)
        value = self.architecture.critic(self.critic.target_layers, batch.next_observation, action)
        return torch.addcmul(batch.reward, batch.discount, value)

    def critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """L = mean (y - Q(s, a))^2: `[P]`."""
        value = self.architecture.critic(self.critic.live, batch.observation, batch.action)
        return (value - target).square().mean(-1)

    def actor_loss(self, batch: Batch) -> Tensor:
        """J = -mean Q(s, mu(s)): `[P]`; the critic is only asked, it does not learn from it."""
        action = self.architecture.actor(self.actor.live, batch.observation)
        return -self.architecture.critic(self.critic.frozen, batch.observation, action).mean(-1)

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

    def _with(self, change: Callable[[NetworkStack], NetworkStack]) -> AgentStack:
        return AgentStack(self.architecture, self.tau, change(self.actor), change(self.critic))
