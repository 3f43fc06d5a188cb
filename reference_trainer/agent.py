"""One agent: a row of the stack, its exploration noise, and its last losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from reference_trainer.ddpg import AgentStack, Losses
from reference_trainer.replay_buffer import Batch

#: Losses of each network that an agent remembers.
LOSS_HISTORY = 1000


class DDPGAgent:
    """One agent: a row of a stack, its exploration noise, and bounded histories.

    Members of a population share the stack's memory; `clone()` has memory of its own.
    """

    def __init__(
        self,
        stack: AgentStack,
        *,
        noise_scale: float,
        loss_history: int = LOSS_HISTORY,
    ) -> None:
        if stack.rows != 1:
            raise ValueError(f"an agent is one row of a stack, got {stack.rows}")
        self.stack = stack
        self.noise_scale, self.kept_losses = noise_scale, loss_history
        self.critic_losses = LossRing(loss_history)
        self.actor_losses = LossRing(loss_history)
        self.fitness: float | None = None

    def act(self, observation: np.ndarray) -> np.ndarray:
        """The action for one observation."""
        return self.stack.answer(observation)

    def exploring(self, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """The policy with independent normal noise on its actions."""
        size, scale = self.stack.architecture.action_size, self.noise_scale

        def policy(observation: np.ndarray) -> np.ndarray:
            noise = (scale * rng.standard_normal(size)).astype(np.float32)
            return np.clip(self.act(observation) + noise, -1.0, 1.0, dtype=np.float32)

        return policy

    def update(self, batch: Iterable[Batch] | Batch, accumulate: int = 1) -> Losses:
        """One gradient step of this agent alone; `accumulate` splits a batch into that many."""
        losses = self.stack.update(batch.split(accumulate) if isinstance(batch, Batch) else batch)
        self.critic_losses.append(float(losses.critic[0]))
        self.actor_losses.append(float(losses.actor[0]))
        return losses

    def clone(self) -> DDPGAgent:
        """An independent agent with the same genome, targets and optimizer state."""
        copy = DDPGAgent(
            self.stack.copy(), noise_scale=self.noise_scale, loss_history=self.kept_losses
        )
        copy.critic_losses.extend(self.critic_losses)
        copy.actor_losses.extend(self.actor_losses)
        copy.fitness = self.fitness
        return copy


class LossRing:
    """The last `capacity` losses, oldest first; made at its full size, unlike a deque."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a history of losses keeps at least one, got {capacity}")
        self._values = np.full(capacity, np.nan)
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, len(self._values))

    def __iter__(self) -> Iterator[float]:
        return iter(self[:])

    def __getitem__(self, which: int | slice) -> float | list[float]:
        """The loss at an index, or the losses of a slice, counted from the oldest."""
        first = self._added % len(self._values) if self._added > len(self._values) else 0
        ordered = np.roll(self._values[: len(self)], -first)
        return ordered[which].tolist()

    def append(self, loss: float) -> None:
        """Add the newest loss; the oldest makes room when the ring is full."""
        self._values[self._added % len(self._values)] = loss
        self._added += 1

    def extend(self, losses: Iterable[float]) -> None:
        """Add several losses, the newest last."""
        for loss in losses:
            self.append(loss)

    def clear(self) -> None:
        """Forget all losses."""
        self._added = 0
