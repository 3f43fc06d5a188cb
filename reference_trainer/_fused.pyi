"""The compiled module that `reference_trainer/_fused.c` builds."""

from typing_extensions import Buffer

VERSION: int
MOST_LAYERS: int

def gradients(
    agents: int,
    penalty: float,
    actor_sizes: tuple[int, ...],
    critic_sizes: tuple[int, ...],
    observation: Buffer,
    action: Buffer,
    reward: Buffer,
    next_observation: Buffer,
    discount: Buffer,
    actor_values: Buffer,
    actor_target: Buffer,
    actor_grad: Buffer,
    critic_values: Buffer,
    critic_target: Buffer,
    critic_grad: Buffer,
    scratch: Buffer,
    losses: Buffer,
) -> None: ...
def descend(
    values: Buffer,
    target: Buffer,
    grad: Buffer,
    exp_avg: Buffer,
    exp_avg_sq: Buffer,
    step: float,
    lr: float,
    scale: float,
    tau: float,
) -> None: ...
def answer(
    sizes: tuple[int, ...], values: Buffer, observation: Buffer, scratch: Buffer, action: Buffer
) -> None: ...
def scratch(actor_sizes: tuple[int, ...], critic_sizes: tuple[int, ...], batch: int) -> int: ...
def use_wide(wanted: bool) -> bool: ...
