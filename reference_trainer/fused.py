"""Updates of small networks and their answers by compiled code, where `_fused.c` was built.

PyTorch takes an update apart into a hundred small operations, and at 64 units a layer to ask for
them takes several times as long as to do them (reports/trainer/updates.md, with what else there
is). `ddpg.py` says what is computed; test_fused.py holds this against it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from reference_trainer.networks import Architecture, NetworkStack
from reference_trainer.replay_buffer import Batch

#: The compiled module that this file fits; one that was built for other sources is left alone.
VERSION = 2
#: A larger network no longer fits the cache of a core, for which PyTorch's products are made.
MOST_PARAMETERS = 2**17

#: Why PyTorch has to do it all, where it has.
HINDRANCE: str | None = None
try:
    from reference_trainer import _fused as kernel
except ImportError:  # no compiler was there
    kernel, HINDRANCE = None, "it was not built"  # type: ignore[assignment]
else:
    if getattr(kernel, "VERSION", None) != VERSION:
        kernel, HINDRANCE = None, "it was built for other sources"  # type: ignore[assignment]


def is_small(architecture: Architecture, actor: NetworkStack, critic: NetworkStack) -> bool:
    """Whether these are networks that compiled code is quicker with than PyTorch."""
    sizes = (network.values.shape[1] for network in (actor, critic))
    return architecture.is_plain and max(sizes) <= MOST_PARAMETERS


class FusedAgents:
    """The actors and critics of a stack, in the same memory."""

    def __init__(self, actor: NetworkStack, critic: NetworkStack, critics: int) -> None:
        self.networks, self.critics = (actor, critic), critics
        self.sizes = (actor.sizes, critic.sizes)
        self.actor, self.critic = _arrays(actor), _arrays(critic)
        self._steps = [network.step.numpy() for network in self.networks]
        self._scratch: dict[int, np.ndarray] = {}
        self._said = np.zeros(2 * max(actor.sizes), np.float32)

    @classmethod
    def of(
        cls, architecture: Architecture, actor: NetworkStack, critic: NetworkStack, critics: int
    ) -> FusedAgents | None:
        """None where PyTorch has to do it: nothing was built, or other or larger networks."""
        if kernel is None or not is_small(architecture, actor, critic):
            return None
        layers = max(len(network.sizes) for network in (actor, critic)) - 1
        fits = layers <= kernel.MOST_LAYERS and critics <= kernel.MOST_CRITICS
        return cls(actor, critic, critics) if fits else None

    def gradients(
        self, batch: Batch, saturation_penalty: float, noise: Tensor | None, *, actors_learn: bool
    ) -> Tensor:
        """Add the slopes of all losses to the gradients; the losses `[2, P]`, critics' first."""
        fields = [np.ascontiguousarray(field.numpy(), np.float32) for field in vars(batch).values()]
        rows, size = fields[2].shape
        losses = np.empty((2, rows), np.float32)
        if size not in self._scratch:
            self._scratch[size] = np.zeros(kernel.scratch(*self.sizes, size), np.float32)
        noises = np.empty(0, np.float32) if noise is None else np.ascontiguousarray(noise.numpy())
        kernel.gradients(
            rows, self.critics, actors_learn, saturation_penalty, *self.sizes, *fields, noises,
            *self.actor[:3], *self.critic[:3], self._scratch[size], losses,
        )  # fmt: skip
        return torch.from_numpy(losses)

    def descend(self, network: NetworkStack, batches: int, tau: float) -> None:
        """One step of Adam on the mean gradients of so many batches; targets follow."""
        at = self.networks.index(network)
        self._steps[at] += 1
        arrays = (self.actor, self.critic)[at]
        kernel.descend(*arrays, float(self._steps[at]), network.lr, 1 / batches, tau)

    def act(self, observation: np.ndarray) -> np.ndarray:
        """The action of the only agent for one observation."""
        action = np.empty(self.sizes[0][-1], np.float32)
        seen = np.ascontiguousarray(observation, np.float32)
        kernel.answer(self.sizes[0], self.actor[0], seen, self._said, action)
        return action


def _arrays(network: NetworkStack) -> list[np.ndarray]:
    """Values, target, gradients and both Adam moments as arrays on the same memory."""
    return [matrix.numpy() for matrix in network.followers(grad=True)]
