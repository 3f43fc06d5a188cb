"""What ten seeds cost beside runs of one, and what stacking them could save.

    python -m regression_tests.benchmarks.trainer.seeds --out reports/trainer/seeds.md

The runs are commands in processes of their own, imports and checkpoints included, as a user has
them. Runs of one go one after the other; `--seeds` has two at once.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
import gymnasium
import numpy as np
import torch

from reference_trainer.config import GYM, Config
from reference_trainer.ddpg import AgentStack
from reference_trainer.networks import mlp_architecture
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.state_storage import VectorStates
from reference_trainer.task import normalized
from regression_tests.benchmarks.trainer.updates import cpu_seconds

SEEDS, AT_ONCE = 10, 2
#: Runs of one seed, of which the mean is taken.
SINGLES = 2
#: Environment steps of each task, as in the contest.
TASKS = {"Pendulum-v1": 20_000, "MountainCarContinuous-v0": 30_000}
#: Transitions in the buffer that batches are sampled from.
STORED = 10_000


class Cost(NamedTuple):
    """Seconds of a command and of all processes that it has started."""

    cpu_s: float
    wall_s: float


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def main(out: Path) -> None:
    """Take an update apart, then run each task both ways; the report grows with each."""
    torch.set_num_threads(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    parts, rows = list(_parts()), []
    for task, steps in TASKS.items():
        rows.append(_row(task, steps))
        out.write_text("\n".join(_report(rows, parts)) + "\n")


def _report(rows: list[str], parts: list[str]) -> Iterator[str]:
    yield f"# {SEEDS} seeds: what they cost"
    yield ""
    yield (
        f"CPU and wall seconds of commands: {SINGLES} runs of one seed, one after the other, and "
        f"`--seeds 0-{SEEDS - 1} --at-once {AT_ONCE}`. Runs: how many of one seed that makes, in "
        f"CPU seconds, and in wall seconds ({os.cpu_count()} cores, which others "
        f"use as well: 1-minute load {os.getloadavg()[0]:.0f} at the end)."
    )
    yield ""
    yield "| task | steps | one run, CPU s | wall s | --seeds, CPU s | wall s | runs, CPU | wall |"
    yield "|" + "---|" * 8
    yield from rows
    yield ""
    yield "## What one stacked population could save"
    yield ""
    yield (
        "Microseconds of CPU for one learner of 64x64 with a batch of 64, as Pendulum-v1 has it: "
        f"alone, and with {SEEDS} of them as rows of one stack that is updated by one call."
    )
    yield ""
    yield from parts


def _row(task: str, steps: int) -> str:
    singles = [_train(task, steps, "--seed", str(seed)) for seed in range(SINGLES)]
    together = _train(task, steps, "--seeds", f"0-{SEEDS - 1}", "--at-once", str(AT_ONCE))
    one = Cost(*np.mean(singles, axis=0))
    row = (
        f"| {task} | {steps:,} | {one.cpu_s:.1f} | {one.wall_s:.1f} | {together.cpu_s:.1f} | "
        f"{together.wall_s:.1f} | {together.cpu_s / one.cpu_s:.1f} | "
        f"{together.wall_s / one.wall_s:.1f} |"
    )
    click.echo(row)
    return row


def _train(task: str, steps: int, *options: str) -> Cost:
    with tempfile.TemporaryDirectory(prefix="seeds") as folder:
        command = [
            sys.executable, "-m", "reference_trainer", "--env", task, "--max-env-steps", str(steps),
            "--generations", "1000000", "--no-guard", "--no-progress", "--out", folder, *options,
        ]  # fmt: skip
        began, before = time.perf_counter(), _children()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return Cost(_children() - before, time.perf_counter() - began)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _parts() -> Iterator[str]:
    alone, stacked = (_learners(rows) for rows in (1, SEEDS))
    yield f"| part | alone | {SEEDS} stacked |"
    yield "|---|---|---|"
    for part, seconds in alone.items():
        yield f"| {part} | {seconds * 1e6:.1f} | {stacked[part] / SEEDS * 1e6:.1f} |"
    total, together = sum(alone.values()), sum(stacked.values()) / SEEDS
    answers = {name: f"{seconds * 1e6:.1f}" for name, seconds in _answers().items()}
    yield ""
    yield (
        f"A stack would save {1 - together / total:.0%} of it. Most is arithmetic, which stays: "
        "each learner has its own weights and its own batch. Answers gain nothing: one agent's "
        f"answer takes {answers['one']} microseconds by compiled code, one of {SEEDS} by a batched "
        f"product {answers['stacked']}; a step of Pendulum-v1 takes {answers['Pendulum-v1']}, one "
        f"of MountainCarContinuous-v0 {answers['MountainCarContinuous-v0']}. Seeds whose episodes "
        "end at different steps would also have to wait for one another, with an optimizer that "
        "counts for each row. So each seed has a process, and they share what a fork shares."
    )


def _learners(rows: int) -> dict[str, float]:
    """CPU seconds of the parts of one gradient step of so many learners."""
    stack, buffer = _stack(rows), _buffer()
    rng, size = np.random.default_rng(0), int(GYM["batch_size"])
    batch = buffer.sample(rows, size, rng)
    return cpu_seconds(
        {
            "sampling a batch": partial(buffer.sample, rows, size, rng),
            "gradients": partial(stack.gradients, batch),
            "Adam and targets": partial(stack.descend, 1),
        }
    )


def _answers() -> dict[str, float]:
    """CPU seconds of an answer, alone and of a stack, and of a step of each task."""
    one, stack = _stack(1), _stack(SEEDS)
    seen, all_seen = np.zeros(3, np.float32), torch.zeros(SEEDS, 1, 3)
    calls = {"one": partial(one.answer, seen), "stacked": partial(stack.act, all_seen)}
    found = cpu_seconds({**calls, **{task: _Steps(task) for task in TASKS}})
    return {**found, "stacked": found["stacked"] / SEEDS}


class _Steps:
    """Steps without a force, episode after episode."""

    def __init__(self, task: str) -> None:
        self.env = normalized(gymnasium.make(task))
        self.env.reset(seed=0)

    def __call__(self) -> None:
        _, _, terminated, truncated, _ = self.env.step(np.zeros(1, np.float32))
        if terminated or truncated:
            self.env.reset()


def _stack(rows: int) -> AgentStack:
    return AgentStack.create(
        mlp_architecture(3, 1, Config.hidden),
        rows,
        tau=GYM["tau"],
        actor_lr=Config.actor_lr,
        critic_lr=Config.critic_lr,
        generator=torch.Generator().manual_seed(0),
        saturation_penalty=GYM["saturation_penalty"],
    )


def _buffer() -> ReplayBuffer:
    buffer = ReplayBuffer(STORED, VectorStates(STORED + 1, 3, 1), STORED + 1, gamma=0.99)
    buffer.restore({"rows_written": STORED, "transitions_written": STORED, "oldest": 0})
    return buffer


if __name__ == "__main__":
    main()
