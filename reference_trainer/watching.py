"""What leakguard is told about a run, and what is touched before it looks."""

from __future__ import annotations

import gc
import io
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from leakguard import LeakGuard
from reference_trainer.ddpg import DDPGAgent
from reference_trainer.environment import TradingEnvironment
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import play_episode

if TYPE_CHECKING:
    from reference_trainer.trainer import ERLTrainer

BLANK_RECORD = {"generation": 0, "fitness_mean": 0.0, "fitness_std": 0.0, "fitness_max": 0.0}


def make_guard(trainer: ERLTrainer, clock: Callable[[], float] = time.perf_counter) -> LeakGuard:
    """A guard that knows how many environments, agents and buffers a healthy run has."""
    config, buffer = trainer.config, trainer.buffer
    size = config.population_size
    guard = LeakGuard(
        watch={TradingEnvironment: 2, DDPGAgent: (size, size + 1), ReplayBuffer: 1},
        out=config.out / "run.jsonl",
        log=trainer.log,
        clock=clock,
    )
    guard.gauge("replay_buffer", lambda: len(buffer), capacity=config.buffer_capacity)
    if (uploader := trainer.uploader) is not None:
        guard.gauge("upload_queue", lambda: uploader.pending, capacity=uploader.capacity)
    return guard


@contextmanager
def watched(trainer: ERLTrainer, generations: Iterable[int]) -> Iterator[Iterable[int]]:
    """The generations, under the trainer's guard unless it is switched off."""
    if not trainer.config.guard:
        yield generations
        return
    with trainer.guard as guard:
        guard.snapshot("Trainer initialized", baseline=True)
        yield guard.generations(generations)
        series = memory_by_phase(guard)
        if series:
            trainer.plotter.memory(series, trainer.config.out / "plots" / "memory.png")


def memory_by_phase(guard: LeakGuard) -> dict[str, list[float]]:
    """Resident memory in MB at the end of each phase, one value a generation."""
    series: dict[str, list[float]] = {}
    for snapshot in guard.run.snapshots:
        if snapshot.phase and "rss" in snapshot.metrics:
            series.setdefault(snapshot.phase, []).append(snapshot.metrics["rss"] / 1e6)
    return series


def warm_up(trainer: ERLTrainer) -> None:
    """Touch what a generation touches, and leave nothing changed.

    Thread pools, scratch tensors, fonts and library caches are allocated before the baseline,
    so the growth that is measured from there is the run's own.
    """
    config, population = trainer.config, trainer.population
    for env in (trainer.task.eval_env, trainer.task.val_env):
        play_episode(env, population.best, seed=0)
    blank = trainer.buffer.blank_batch(config.population_size, config.batch_size)
    population.trained.rehearse(blank)
    trainer.plotter.fitness([BLANK_RECORD], io.BytesIO())
    trainer.plotter.equity({"best agent": np.ones(2)}, io.BytesIO())
    # The artists of a figure refer to one another: what they leave is not the run's.
    gc.collect()
