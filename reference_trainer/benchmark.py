"""`python -m reference_trainer.benchmark`: what the trainer costs on this machine, as Markdown.

Ratios between two ways of doing the same thing are measured in one process, one after the other;
trust them more than the absolute numbers.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
import torch

from reference_trainer.checkpoint import CheckpointStore
from reference_trainer.config import Config
from reference_trainer.ddpg import AgentStack, LearningRules
from reference_trainer.evolution import EvolutionRules, evolve
from reference_trainer.networks import mlp_architecture
from reference_trainer.population import Population
from reference_trainer.replay_buffer import Batch, ReplayBuffer
from reference_trainer.rollout import play_episode
from reference_trainer.state_storage import VectorStates
from reference_trainer.task import TradingTask

AGENTS, OBSERVATION, ACTION = 16, 24, 6


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path), default=Path("data"))
@click.option("--full-size/--small", default=True, help="Trade 3781 x 669 x 9, or a small panel.")
@click.option("--buffer-mb", default=1000, help="Size of the buffer that is saved, in MB.")
def main(data_dir: Path, full_size: bool, buffer_mb: int) -> None:
    """Measure updates, episodes, evolution and checkpoints."""
    torch.set_num_threads(1)
    click.echo("| what | measured |\n|---|---|")
    for width, batch in ((64, 64), (128, 128), (256, 256)):
        row(f"update of 16 agents, {width}x{width}, batch {batch}", _updates(width, batch))
    row("acting for 16 agents, 64x64", _acting())
    row("extra memory of evolution, 16 agents", _evolution())
    row(f"saving a {buffer_mb} MB replay buffer", _saving(buffer_mb * 1_000_000))
    row("trading episode" + (", 669 stocks" if full_size else ""), _episode(data_dir, full_size))


def row(what: str, measured: str) -> None:
    """One line of the table."""
    click.echo(f"| {what} | {measured} |")


def _updates(width: int, batch: int) -> str:
    stack = _stack(width)
    singles = [stack.view(row, row + 1).copy() for row in range(AGENTS)]
    data = _batch(AGENTS, batch)
    parts = [Batch(*(field[i : i + 1] for field in vars(data).values())) for i in range(AGENTS)]
    together = _seconds(lambda: stack.update([data]))
    one_by_one = _seconds(
        lambda: [single.update([part]) for single, part in zip(singles, parts, strict=True)]
    )
    return (
        f"stacked {1e3 * together:.1f} ms, a loop over single agents {1e3 * one_by_one:.1f} ms: "
        f"x{one_by_one / together:.1f}; {AGENTS / together:,.0f} agent updates/s"
    )


def _acting() -> str:
    stack = _stack(64)
    singles = [stack.view(row, row + 1) for row in range(AGENTS)]
    observation = torch.randn(AGENTS, 1, OBSERVATION)
    together = _seconds(lambda: stack.act(observation), 200)
    one_by_one = _seconds(lambda: [single.act(observation[:1]) for single in singles], 200)
    return f"stacked {1e6 * together:.0f} µs, a loop {1e6 * one_by_one:.0f} µs"


def _evolution() -> str:
    stack = _stack(512)
    size = sum(network.nbytes for network in stack.networks)
    before = _status("RssAnon")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        evolve(stack, list(range(AGENTS)), EvolutionRules(), rng)
    return f"{(_status('RssAnon') - before) / 1e6:+.1f} MB on a population of {size / 1e6:.0f} MB"


def _saving(nbytes: int) -> str:
    rows = nbytes // (4 * (OBSERVATION * 10 + ACTION) + 20)
    storage = VectorStates(rows, OBSERVATION * 10, ACTION)
    buffer = ReplayBuffer(rows, storage, rows, gamma=0.99)
    buffer.rows_written = rows
    config = Config(population_size=2, elite_fraction=0.1)
    population = Population(config, mlp_architecture(4, 2, (8,)))
    with tempfile.TemporaryDirectory() as folder:
        store = CheckpointStore(Path(folder), keep=1)
        seconds, extra = _cost(lambda: store.save(1, population, buffer, {}))
    slow, copied = _cost(lambda: pickle.dumps(buffer.columns, protocol=4))
    return (
        f"{seconds:.1f} s and {extra / 1e6:+.0f} MB at its peak; pickled: {slow:.1f} s and "
        f"{copied / 1e6:+.0f} MB"
    )


def _episode(data_dir: Path, full_size: bool) -> str:
    sizes: dict[str, Any] = {"days": 3781, "stocks": 669, "context_days": 504, "trading_days": 125,
             "settlement_days": 20, "validation_days": 504} if full_size else {}  # fmt: skip
    config = Config(data_dir=data_dir, **sizes)
    began = time.perf_counter()
    task = TradingTask(config)
    opening = time.perf_counter() - began
    population = Population(config, task.architecture)
    rng = np.random.default_rng(0)
    began, steps = time.perf_counter(), 0
    for agent in population.agents[:4]:
        plan = task.plan_episode(rng)
        steps += play_episode(task.eval_env, agent, options=plan.options, explore=rng).steps
    speed = steps / (time.perf_counter() - began)
    peak = psutil.Process().memory_info().rss / 1e6
    return f"{speed:,.0f} steps/s; market opened in {opening:.1f} s; RSS {peak:,.0f} MB"


def _stack(width: int) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(OBSERVATION, ACTION, (width, width)),
        LearningRules(),
        AGENTS,
        actor_lr=1e-4,
        critic_lr=1e-3,
        generator=torch.Generator().manual_seed(0),
    )


def _batch(agents: int, size: int) -> Batch:
    return Batch(
        torch.randn(agents, size, OBSERVATION),
        torch.rand(agents, size, ACTION),
        torch.randn(agents, size),
        torch.randn(agents, size, OBSERVATION),
        torch.full((agents, size), 0.99),
    )


def _seconds(call: Callable[[], object], repeats: int = 9) -> float:
    """The fastest of several runs, after one to warm up."""
    call()
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def _cost(call: Callable[[], object]) -> tuple[float, int]:
    """Seconds, and the peak of resident memory above where it began."""
    # Linux: writing 5 sets the high-water mark back to what is resident now.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    began = time.perf_counter()
    call()
    return time.perf_counter() - began, max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    """A number of bytes from /proc/self/status (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise click.ClickException(f"this system does not tell {name}; the benchmark needs Linux")


if __name__ == "__main__":
    main(prog_name="python -m reference_trainer.benchmark")
