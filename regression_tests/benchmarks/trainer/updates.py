"""CPU time of an update: the ways to make one, and stable-baselines3 beside the trainer's.

    python -m regression_tests.benchmarks.trainer.updates --out reports/trainer/updates.md

One update is one gradient step of actor and critic of one agent on a batch, with its target
networks. CPU seconds of this process, one thread; the ways take turns in one process, and the
fastest of several rounds counts. The limit is the matrix products that an update needs, at the
rate of one large product.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import gymnasium
import numpy as np
import torch
import torch._inductor.config

from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture
from reference_trainer.replay_buffer import Batch
from regression_tests.benchmarks.trainer.update_ways import WAYS

#: As Swimmer and Hopper have them, about.
OBSERVATION, ACTION = 24, 6
#: Units of each of two hidden layers, and the batch of an agent.
SIZES = ((64, 64), (128, 128), (256, 256))
AGENTS = (1, 16)
ROUNDS, ROUND_S = 9, 0.1
#: A way within so many times the compiled code's time would make that superfluous.
CLOSE = 1.5
#: Rows and columns of the product that says what the processor can do.
LARGE = 1_024
#: The way that the others are divided by.
FIRST = next(iter(WAYS))


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(out: Path) -> None:
    """Measure every way at each size, in turn in one process."""
    torch.set_num_threads(1)
    torch._inductor.config.force_disable_caches = True
    torch._inductor.config.compile_threads = 1  # in this process, whose compilers are counted
    rate = _large_product()
    ways, trainers = [], []
    for (width, batch), agents in ((size, agents) for size in SIZES for agents in AGENTS):
        stack, data = _stack(width, agents), _batch(agents, batch)
        calls = {name: partial(make(stack), data) for name, make in WAYS.items()}
        compilation = _cpu_with_compiler(calls["torch.compile"])
        taken = cpu_seconds(calls)
        ways.append(_way_row(width, batch, agents, taken, compilation))
        limit = _operations(width, batch) / rate * agents
        trainers.append(_trainer_row(width, batch, agents, taken[FIRST], limit))
        click.echo(f"{ways[-1]}\n{trainers[-1]}")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(_report(ways, trainers, rate)) + "\n")


def _report(ways: list[str], trainers: list[str], rate: float) -> Iterator[str]:
    yield "# The update of DDPG: what each way to make it costs"
    yield ""
    yield (
        f"Microseconds of CPU for each agent's update, one thread, {OBSERVATION} observations and "
        f"{ACTION} actions; and how many times that of the compiled C."
    )
    yield ""
    yield f"| networks | batch | agents | {' | '.join(WAYS)} | compilation |"
    yield "|" + "---|" * (len(WAYS) + 4)
    yield from ways
    yield ""
    yield (
        "Compiled C: `reference_trainer/_fused.c`. Autograd: the equations of `ddpg.py` over "
        "stacked weights, with fused Adam. By hand: the gradients written out over the same "
        "weights. torch.func: `vmap` of `grad` of one agent's losses. torch.compile: gradients, "
        "Adam and targets as one graph, by inductor with g++, which takes the CPU seconds of the "
        "last column first. `update_ways.py` has the last three; a way within "
        f"x{CLOSE} everywhere would replace the C."
    )
    yield ""
    yield "Agent updates per CPU second:"
    yield ""
    yield (
        "| networks | batch | agents | stack | stable-baselines3 | stack / stable-baselines3 | "
        "limit | stack / limit | only moved |"
    )
    yield "|" + "---|" * 9
    yield from trainers
    yield ""
    yield (
        "Stack: all agents in one call of `AgentStack.update`. stable-baselines3: its DDPG, which "
        "samples its batch as well. Limit: the matrix products of one update "
        f"({_operations(*SIZES[0]) / 1e6:.1f} million floating-point operations at 64x64) at "
        f"{rate / 1e9:.0f} GFLOP/s, what one product of {LARGE} x {LARGE} reaches here. Only "
        "moved: the share of Adam and the target networks, which need memory rather than "
        "arithmetic, in the stack's update."
    )


def _way_row(
    width: int, batch: int, agents: int, taken: Mapping[str, float], compilation: float
) -> str:
    """Microseconds an agent, and the ratio to the first way."""
    cells = " | ".join(
        f"{seconds / agents * 1e6:,.0f}"
        + ("" if name == FIRST else f" (x{seconds / taken[FIRST]:.1f})")
        for name, seconds in taken.items()
    )
    return f"| {width}x{width} | {batch} | {agents} | {cells} | {compilation:.0f} s |"


def _trainer_row(width: int, batch: int, agents: int, taken: float, limit: float) -> str:
    other = _stable_baselines(width, batch)
    stack = _stack(width, agents)
    moved = _cpu_seconds(lambda: stack.descend(1))
    return (
        f"| {width}x{width} | {batch} | {agents} | {agents / taken:,.0f} | {1 / other:,.0f} | "
        f"x{other * agents / taken:.1f} | {agents / limit:,.0f} | {limit / taken:.0%} | "
        f"{moved / taken:.0%} |"
    )


def _stack(width: int, agents: int) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(OBSERVATION, ACTION, (width, width)),
        agents,
        tau=0.005,
        actor_lr=1e-4,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
        saturation_penalty=1e-3,
    )


def _operations(width: int, batch: int) -> int:
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
    return 2 * batch * (target + critic_step + actor_step)


def _large_product() -> float:
    """Floating-point operations per CPU second of one large product."""
    one, other = torch.randn(2, LARGE, LARGE)
    return 2 * LARGE**3 / _cpu_seconds(lambda: one @ other)


def _batch(agents: int, size: int) -> Batch:
    return Batch(
        torch.randn(agents, size, OBSERVATION),
        torch.rand(agents, size, ACTION),
        torch.randn(agents, size),
        torch.randn(agents, size, OBSERVATION),
        torch.full((agents, size), 0.99),
    )


class _Spaces(gymnasium.Env[np.ndarray, np.ndarray]):
    """An environment for its spaces only."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (OBSERVATION,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (ACTION,), np.float32)

    def reset(self, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return np.zeros(OBSERVATION, np.float32), {}


def _stable_baselines(width: int, batch: int) -> float:
    """CPU seconds of an update of one DDPG agent; sampling its batch included, as it must."""
    from stable_baselines3 import DDPG
    from stable_baselines3.common.logger import Logger

    model = DDPG(
        "MlpPolicy", _Spaces(), batch_size=batch, buffer_size=1000, device="cpu",
        policy_kwargs={"net_arch": [width, width]},
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    rng = np.random.default_rng(0)
    assert model.replay_buffer is not None
    for _ in range(1000):
        states = rng.standard_normal((2, 1, OBSERVATION)).astype(np.float32)
        action = rng.uniform(-1, 1, (1, ACTION)).astype(np.float32)
        model.replay_buffer.add(*states, action, rng.standard_normal(1), np.zeros(1), [{}])
    return _cpu_seconds(lambda: model.train(gradient_steps=1, batch_size=batch))


def _cpu_seconds(call: Callable[[], object]) -> float:
    return cpu_seconds({"": call})[""]


def cpu_seconds(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """CPU seconds of one call of each: the fastest of several rounds, in which they take turns."""
    often = {}
    for name, call in calls.items():
        call()
        often[name] = max(1, int(ROUND_S / _wall(call)))
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.process_time()
            for _ in range(often[name]):
                call()
            best[name] = min(best[name], (time.process_time() - began) / often[name])
    return best


def _cpu_with_compiler(call: Callable[[], object]) -> float:
    """CPU seconds of one call and of the programs that it runs."""
    before = _used()
    call()
    return _used() - before


def _used() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def _wall(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
