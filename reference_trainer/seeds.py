"""Many seeds of one configuration, each with a folder of its own."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reference_trainer.config import Config
from reference_trainer.errors import ConfigError

if TYPE_CHECKING:
    from reference_trainer.trainer import ERLTrainer

#: More than anybody waits for; a longer list is a slip of the pen.
MOST_SEEDS = 10_000


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a seed came to: the best agent's fitness, environment steps, and CPU seconds.

    `best` is None where no generation was finished.
    """

    best: float | None
    env_steps: int
    cpu_s: float


def parse_seeds(text: str) -> list[int]:
    """Seeds written like `0-9` or `0,3,7-9`, each once; raises `ConfigError` on anything else."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise ConfigError(f"--seeds {text!r}: write them like 0-9 or 0,3,7-9")
        chosen = range(int(first), int(last or first) + 1)
        if not 0 < len(chosen) <= MOST_SEEDS:
            raise ConfigError(f"--seeds {part.strip()}: 1 to {MOST_SEEDS:,}, the lowest first")
        seeds.extend(chosen)
    return list(dict.fromkeys(seeds))


def each_seed(config: Config, seeds: Sequence[int]) -> list[Config]:
    """The configuration of each seed: the seed and where its files go are its own.

    Progress bars of several would write over one another.
    """
    return [
        dataclasses.replace(
            config,
            seed=seed,
            out=config.out / f"seed_{seed}",
            upload=config.upload and f"{config.upload.rstrip('/')}/seed_{seed}",
            progress=False,
        )
        for seed in seeds
    ]


def train_seed(config: Config, train: Callable[[Config], ERLTrainer]) -> Outcome:
    """Train one, with its words in `training.log` of its folder."""
    began = time.process_time()
    config.out.mkdir(parents=True, exist_ok=True)
    with (config.out / "training.log").open("a") as log, redirect_stdout(log), redirect_stderr(log):
        trainer = train(config)
    taken = time.process_time() - began
    return Outcome(trainer.population.best.fitness, trainer.env_steps, taken)


def outcome_line(seed: int, outcome: Outcome, folder: Path) -> str:
    """One seed in a line."""
    return (
        f"Seed {seed}: best agent {_fitness(outcome.best)} after {outcome.env_steps:,} steps, "
        f"{outcome.cpu_s:.0f} CPU s, {folder}"
    )


def summary(outcomes: Sequence[Outcome]) -> str:
    """All seeds in a line."""
    best = [outcome.best for outcome in outcomes if outcome.best is not None]
    if not best:
        return f"{len(outcomes)} seeds: none has a best agent"
    mean, lowest, highest = (_fitness(float(of(best))) for of in (np.mean, np.min, np.max))
    return (
        f"{len(outcomes)} seeds: best agents' mean {mean}, lowest {lowest}, highest {highest}; "
        f"{sum(outcome.cpu_s for outcome in outcomes):.0f} CPU s"
    )


def _fitness(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"
