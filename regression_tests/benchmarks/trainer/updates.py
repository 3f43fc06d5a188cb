"""Agent updates per CPU second: the stacked population, loops, and stable-baselines3.

    python -m regression_tests.benchmarks.trainer.updates --out reports/trainer/updates.md

One update is one gradient step of actor and critic of one agent on a batch, with its target
networks. CPU seconds of this process, one thread; the fastest of several rounds each. The limit is
the matrix products that an update needs, at the rate of one large product.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import gymnasium
import numpy as np
import torch

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture
from reference_trainer.replay_buffer import Batch

AGENTS, OBSERVATION, ACTION, BATCH = 16, 24, 6, 64
ROUNDS, STEPS = 5, 5
#: Rows and columns of the product that says what the processor can do.
LARGE = 1_024
WAYS = ("stack", "one by one", "stack by PyTorch", "one by one by autograd")


@click.command()
@click.option("--widths", default="64,128,256", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(widths: str, out: Path) -> None:
    """Measure every way at each width, one after the other in one process."""
    torch.set_num_threads(1)
    rate = _large_product()
    lines = [
        f"Agent updates per CPU second: {AGENTS} agents, batch {BATCH} each, {OBSERVATION} "
        f"observations, {ACTION} actions, DDPG, one thread.",
        "",
        f"| networks | {' | '.join(WAYS)} | stable-baselines3 | limit |",
        "|" + "---|" * (len(WAYS) + 3),
    ]
    ratios = [
        "",
        "| networks | stack / one by one | stack / one by one by autograd | stack / stack by "
        "PyTorch | one by one / stable-baselines3 | stack / stable-baselines3 | stack / limit | "
        "only moved |",
        "|" + "---|" * 8,
    ]
    for width in (int(part) for part in widths.split(",")):
        found = {way: AGENTS / _cpu_seconds(call) for way, call in _ways(width).items()}
        stack, single, by_torch, autograd = (found[way] for way in WAYS)
        other, limit = _stable_baselines(width), rate / _operations(width)
        numbers = " | ".join(f"{value:,.0f}" for value in (*found.values(), other, limit))
        lines.append(f"| {width}x{width} | {numbers} |")
        times = " | ".join(
            f"x{ratio:.1f}"
            for ratio in (
                stack / single, stack / autograd, stack / by_torch, single / other, stack / other
            )
        )  # fmt: skip
        ratios.append(
            f"| {width}x{width} | {times} | {stack / limit:.0%} | {_moved(width) * stack:.0%} |"
        )
        click.echo(f"{lines[-1]}\n{ratios[-1]}")
    lines += [
        *ratios,
        "",
        "Stack: all agents in one call of `AgentStack.update`, compiled where it was built; one by "
        "one: the same for each agent; by PyTorch: `compiled=False`; by autograd: each agent's "
        "losses differentiated and applied by PyTorch, as a trainer of single agents does.",
        f"Limit: the matrix products of one update ({_operations(64) / 1e6:.1f} million "
        f"floating-point operations at 64x64) at {rate / 1e9:.0f} GFLOP/s, what one product of "
        f"{LARGE} x {LARGE} reaches here. Only moved: the share of Adam and the target networks, "
        "which need memory rather than arithmetic, in the stack's update.",
    ]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n")


def _ways(width: int) -> dict[str, Callable[[], object]]:
    """What makes one update of all agents, by name."""
    data = _batch()
    parts = [Batch(*(field[i : i + 1] for field in vars(data).values())) for i in range(AGENTS)]
    stack, by_torch = (_stack(width, compiled=compiled) for compiled in (True, False))
    singles, plain = (
        [whole.view(row, row + 1).copy() for row in range(AGENTS)] for whole in (stack, by_torch)
    )

    def one_by_one() -> None:
        for single, part in zip(singles, parts, strict=True):
            single.update([part])

    def autograd() -> None:
        for single, part in zip(plain, parts, strict=True):
            with torch.no_grad():
                target = single.td_target(part)
            single.critic.accumulate(single.critic_loss(part, target).sum())
            single.actor.accumulate(single.actor_loss(part).sum())
            single.descend(1)

    calls = (lambda: stack.update([data]), one_by_one, lambda: by_torch.update([data]), autograd)
    return dict(zip(WAYS, calls, strict=True))


def _moved(width: int) -> float:
    """CPU seconds of Adam and the target networks for one agent."""
    stack = _stack(width, compiled=True)
    return _cpu_seconds(lambda: stack.descend(1)) / AGENTS


def _stack(width: int, *, compiled: bool) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(OBSERVATION, ACTION, (width, width)),
        AGENTS,
        tau=0.005,
        actor_lr=1e-4,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
        compiled=compiled,
    )


def _operations(width: int) -> int:
    """Floating-point operations of the matrix products of one update of one agent.

    A product forward, one for the slope by the weights, one for the slope by what a layer read.
    """
    hidden = width * width
    actor_first, actor = OBSERVATION * width, OBSERVATION * width + hidden + width * ACTION
    critic_first = (OBSERVATION + ACTION) * width
    critic = critic_first + hidden + width
    target = actor + critic
    critic_step = 3 * critic - critic_first  # nothing is before the first layer
    actor_step = 3 * actor - actor_first + 2 * critic
    return 2 * BATCH * (target + critic_step + actor_step)


def _large_product() -> float:
    """Floating-point operations per CPU second of one large product."""
    one, other = torch.randn(2, LARGE, LARGE)
    return 2 * LARGE**3 / _cpu_seconds(lambda: one @ other)


def _batch() -> Batch:
    return Batch(
        torch.randn(AGENTS, BATCH, OBSERVATION),
        torch.rand(AGENTS, BATCH, ACTION),
        torch.randn(AGENTS, BATCH),
        torch.randn(AGENTS, BATCH, OBSERVATION),
        torch.full((AGENTS, BATCH), 0.99),
    )


class _Spaces(gymnasium.Env[np.ndarray, np.ndarray]):
    """An environment for its spaces only."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (OBSERVATION,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (ACTION,), np.float32)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return np.zeros(OBSERVATION, np.float32), {}


def _stable_baselines(width: int) -> float:
    """Updates per CPU second of one DDPG agent; sampling its batch included, as it must."""
    from stable_baselines3 import DDPG
    from stable_baselines3.common.logger import Logger

    model = DDPG(
        "MlpPolicy", _Spaces(), batch_size=BATCH, buffer_size=1000, device="cpu",
        policy_kwargs={"net_arch": [width, width]},
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    rng = np.random.default_rng(0)
    assert model.replay_buffer is not None
    for _ in range(1000):
        states = rng.standard_normal((2, 1, OBSERVATION)).astype(np.float32)
        action = rng.uniform(-1, 1, (1, ACTION)).astype(np.float32)
        model.replay_buffer.add(*states, action, rng.standard_normal(1), np.zeros(1), [{}])
    return 1 / _cpu_seconds(lambda: model.train(gradient_steps=1, batch_size=BATCH))


def _cpu_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of one call: the fastest round of several, after one to warm up."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(STEPS):
            call()
        best = min(best, (time.process_time() - began) / STEPS)
    return best


if __name__ == "__main__":
    main()
