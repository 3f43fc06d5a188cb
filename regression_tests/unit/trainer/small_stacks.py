"""A population of tiny agents, and a batch for it."""

from __future__ import annotations

import torch

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture
from reference_trainer.replay_buffer import Batch


def make_stack(
    rows: int = 3, *, compiled: bool = True, saturation_penalty: float = 0.0
) -> AgentStack:
    """Untrained agents of four observations and two actions."""
    return AgentStack.create(
        mlp_architecture(4, 2, (8, 8)),
        rows,
        tau=0.005,
        actor_lr=1e-3,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
        saturation_penalty=saturation_penalty,
        compiled=compiled,
    )


def make_batch(rows: int = 3, size: int = 16, discount: float = 0.99) -> Batch:
    """The same random transitions for each call."""
    draw = torch.Generator().manual_seed(1)
    return Batch(
        torch.randn(rows, size, 4, generator=draw),
        torch.rand(rows, size, 2, generator=draw) * 2 - 1,
        torch.randn(rows, size, generator=draw),
        torch.randn(rows, size, 4, generator=draw),
        torch.full((rows, size), discount),
    )
