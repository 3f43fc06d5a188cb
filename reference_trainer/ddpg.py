"""Deep deterministic policy gradients (Lillicrap et al. 2016) and TD3 (Fujimoto et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from reference_trainer.loss_ring import LossRing
from reference_trainer.networks import Architecture, NetworkStack
from reference_trainer.noise import Noise, make_noise
from reference_trainer.replay_buffer import Batch


@dataclass(frozen=True)
class LearningRules:
    """The constants of the update; `twin` switches TD3's three additions on."""

    gamma: float = 0.99
    tau: float = 0.005
    twin: bool = False
    policy_delay: int = 2
    target_noise: float = 0.2
    target_noise_clip: float = 0.5


@dataclass(frozen=True)
class Losses:
    """Mean losses of one gradient step, `[P]` each; they carry no graph unless asked to.

    `actor` is None on the steps that TD3 leaves the policy alone.
    """

    critic: Tensor
    actor: Tensor | None


class AgentStack:
    """Actors and critics of several agents, one agent a row, trained in one pass."""

    def __init__(
        self,
        architecture: Architecture,
        rules: LearningRules,
        actor: NetworkStack,
        critics: Sequence[NetworkStack],
    ) -> None:
        self.architecture, self.rules = architecture, rules
        self.actor, self.critics = actor, tuple(critics)

    @classmethod
    def create(
        cls,
        architecture: Architecture,
        rules: LearningRules,
        rows: int,
        *,
        actor_lr: float,
        critic_lr: float,
        generator: torch.Generator,
    ) -> AgentStack:
        """New agents with independent random genomes."""
        actor = NetworkStack.create(architecture.actor_sizes, rows, actor_lr, generator)
        critics = [
            NetworkStack.create(architecture.critic_sizes, rows, critic_lr, generator)
            for _ in range(2 if rules.twin else 1)
        ]
        return cls(architecture, rules, actor, critics)

    @property
    def rows(self) -> int:
        """How many agents there are."""
        return self.actor.rows

    @property
    def networks(self) -> tuple[NetworkStack, ...]:
        """The actor stack, then the critic stacks."""
        return (self.actor, *self.critics)

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

    @torch.inference_mode()
    def act(self, observations: Tensor) -> Tensor:
        """Noise-free actions of all agents: `[P, B, O]` to `[P, B, A]`."""
        return self.architecture.actor(self.actor.frozen, observations)

    def update(
        self,
        batches: Iterable[Batch],
        *,
        generator: torch.Generator | None = None,
        keep_graph: bool = False,
    ) -> Losses:
        """One gradient step of every agent, its gradients averaged over `batches`.

        `keep_graph` returns losses that still carry their autograd graph (for inspection):
        whoever stores them stores every activation of the pass.
        """
        critic_losses, actor_losses = [], []
        delayed = self._policy_is_delayed()
        for batch in batches:
            critic_loss = self._critic_loss(batch, self._td_target(batch, generator))
            self._accumulate_critics(critic_loss, keep_graph)
            critic_losses.append(critic_loss if keep_graph else critic_loss.detach())
            if not delayed:
                actor_loss = self._actor_loss(batch)
                self.actor.accumulate(actor_loss.sum(), keep_graph)
                actor_losses.append(actor_loss if keep_graph else actor_loss.detach())
        for critic in self.critics:
            critic.grad.div_(len(critic_losses))
            critic.apply_gradients()
        if not delayed:
            self.actor.grad.div_(len(actor_losses))
            self.actor.apply_gradients()
            for network in self.networks:
                network.update_target(self.rules.tau)
        return Losses(_mean(critic_losses), None if delayed else _mean(actor_losses))

    def rehearse(self, batch: Batch) -> None:
        """Run both gradients once and forget them; no parameter moves."""
        self._accumulate_critics(self._critic_loss(batch, self._td_target(batch, None)), False)
        self.actor.accumulate(self._actor_loss(batch).sum())
        for network in self.networks:
            network.grad.zero_()

    @torch.no_grad()
    def _td_target(self, batch: Batch, generator: torch.Generator | None) -> Tensor:
        """y = r + gamma^n (1 - terminated) min_k Q'_k(s', mu'(s'))."""
        action = self.architecture.actor(self.actor.target_layers, batch.next_observation)
        if self.rules.twin:
            action = self._smooth(action, generator)
        values = [
            self.architecture.critic(critic.target_layers, batch.next_observation, action)
            for critic in self.critics
        ]
        value = torch.minimum(*values) if len(values) == 2 else values[0]
        return torch.addcmul(batch.reward, batch.discount, value)

    def _smooth(self, action: Tensor, generator: torch.Generator | None) -> Tensor:
        """Target policy smoothing (Fujimoto et al. 2018, equation 14)."""
        noise = torch.empty_like(action).normal_(generator=generator) * self.rules.target_noise
        clip = self.rules.target_noise_clip
        return (action + noise.clamp_(-clip, clip)).clamp_(-1.0, 1.0)

    def _critic_loss(self, batch: Batch, target: Tensor) -> Tensor:
        """Mean squared TD error of each agent, summed over its critics: `[P]`."""
        losses = [
            (self.architecture.critic(critic.live, batch.observation, batch.action) - target)
            .square()
            .mean(-1)
            for critic in self.critics
        ]
        return losses[0] if len(losses) == 1 else losses[0] + losses[1]

    def _accumulate_critics(self, loss: Tensor, keep_graph: bool) -> None:
        for critic in self.critics[:-1]:
            critic.accumulate(loss.sum(), retain_graph=True)
        self.critics[-1].accumulate(loss.sum(), keep_graph)

    def _actor_loss(self, batch: Batch) -> Tensor:
        """The deterministic policy gradient climbs Q(s, mu(s)) of the first critic: `[P]`."""
        action = self.architecture.actor(self.actor.live, batch.observation)
        critic = self.critics[0].frozen
        return -self.architecture.critic(critic, batch.observation, action).mean(-1)

    def _policy_is_delayed(self) -> bool:
        done = int(self.critics[0].step.item())
        return self.rules.twin and (done + 1) % self.rules.policy_delay != 0

    def _with(self, change: Callable[[NetworkStack], NetworkStack]) -> AgentStack:
        critics = [change(critic) for critic in self.critics]
        return AgentStack(self.architecture, self.rules, change(self.actor), critics)


class DDPGAgent:
    """One agent: a row of a stack, its exploration noise, and bounded histories.

    Members of a population share the stack's memory; `clone()` has memory of its own.
    """

    def __init__(
        self, stack: AgentStack, *, noise: str, noise_scale: float, loss_history: int = 1000
    ) -> None:
        if stack.rows != 1:
            raise ValueError(f"an agent is one row of a stack, got {stack.rows}")
        self.stack = stack
        self.noise: Noise = make_noise(noise, stack.architecture.action_size, noise_scale)
        self.noise_kind, self.noise_scale = noise, noise_scale
        self.kept_losses = loss_history
        self.critic_losses = LossRing(loss_history)
        self.actor_losses = LossRing(loss_history)
        self.fitness: float | None = None

    def act(self, observation: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """The action for one observation, with exploration noise when `rng` is given."""
        action = self.stack.act(torch.from_numpy(observation).view(1, 1, -1)).numpy().reshape(-1)
        if rng is None:
            return action
        return np.clip(action + self.noise.sample(rng), -1.0, 1.0, dtype=np.float32)

    def update(self, batch: Iterable[Batch] | Batch, accumulate: int = 1) -> Losses:
        """One gradient step of this agent alone; `accumulate` splits a batch into that many."""
        batches = batch.split(accumulate) if isinstance(batch, Batch) else batch
        losses = self.stack.update(batches)
        self.critic_losses.append(float(losses.critic[0]))
        if losses.actor is not None:
            self.actor_losses.append(float(losses.actor[0]))
        return losses

    def clone(self) -> DDPGAgent:
        """An independent agent with the same genome, targets and optimizer state."""
        copy = DDPGAgent(
            self.stack.copy(),
            noise=self.noise_kind,
            noise_scale=self.noise_scale,
            loss_history=self.kept_losses,
        )
        copy.critic_losses.extend(self.critic_losses)
        copy.actor_losses.extend(self.actor_losses)
        copy.fitness = self.fitness
        return copy


def _mean(losses: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(losses)).mean(0)
