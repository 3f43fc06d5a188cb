"""The update of small networks as one compiled call, where `_fused.c` was built.

A network of 64 units a layer needs a tenth of the time that PyTorch needs to be asked for its
hundred small operations. `ddpg.py` says what is computed; this computes the same, without
allocating anything.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reference_trainer.networks import Architecture, NetworkStack
from reference_trainer.replay_buffer import Batch

try:
    from reference_trainer import _fused as kernel
except ImportError:  # no compiler was there
    kernel = None  # type: ignore[assignment]

#: A larger network no longer fits the cache of a core, for which PyTorch's products are made.
MOST_PARAMETERS = 2**17


class FusedAgents:
    """The actors and critics of a stack, in the same memory."""

    def __init__(
        self, actor: NetworkStack, critic: NetworkStack, tau: float, saturation_penalty: float
    ) -> None:
        self.rows, self.tau, self.saturation_penalty = actor.rows, tau, saturation_penalty
        self.sizes = (actor.sizes, critic.sizes)
        self.actor, self.critic = _arrays(actor), _arrays(critic)
        self._steps = [network.step.numpy() for network in (actor, critic)]
        self._rates = [network.lr for network in (actor, critic)]
        self._scratch: dict[int, np.ndarray] = {}
        self._said = np.zeros(2 * max(actor.sizes), np.float32)

    @classmethod
    def of(
        cls,
        architecture: Architecture,
        actor: NetworkStack,
        critic: NetworkStack,
        tau: float,
        saturation_penalty: float,
    ) -> FusedAgents | None:
        """None where PyTorch has to do it: nothing was built, or other or larger networks."""
        most = max(network.values.shape[1] for network in (actor, critic))
        fits = kernel is not None and architecture.is_plain and most <= MOST_PARAMETERS
        return cls(actor, critic, tau, saturation_penalty) if fits else None

    def gradients(self, batch: Batch) -> Tensor:
        """Add the slopes of all losses to the gradients; the losses `[2, P]`, critics' first."""
        fields = [np.ascontiguousarray(field.numpy()) for field in vars(batch).values()]
        losses = np.empty((2, self.rows), np.float32)
        size = fields[2].shape[1]
        if size not in self._scratch:
            self._scratch[size] = np.zeros(kernel.scratch(*self.sizes, size), np.float32)
        kernel.gradients(
            self.rows, self.saturation_penalty, *self.sizes, *fields,
            *self.actor[:3], *self.critic[:3], self._scratch[size], losses,
        )  # fmt: skip
        return torch.from_numpy(losses)

    def descend(self, batches: int) -> None:
        """One step of Adam on the mean gradients of so many batches; targets follow."""
        for arrays, step, rate in zip(
            (self.actor, self.critic), self._steps, self._rates, strict=True
        ):
            step += 1
            kernel.descend(*arrays, float(step), rate, 1 / batches, self.tau)

    def act(self, observation: np.ndarray) -> np.ndarray:
        """The action of the only agent for one observation."""
        action = np.empty(self.sizes[0][-1], np.float32)
        kernel.answer(self.sizes[0], self.actor[0], observation, self._said, action)
        return action


def _arrays(network: NetworkStack) -> list[np.ndarray]:
    """Values, target, gradients and both Adam moments as arrays on the same memory."""
    return [matrix.numpy() for matrix in network.followers(grad=True)]
