"""What leakguard is told about a run, and what is touched before it looks."""

from __future__ import annotations

import gc
import io
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from leakguard import LeakGuard, phase
from reference_trainer.agent import DDPGAgent
from reference_trainer.environment import TradingEnvironment
from reference_trainer.hooks import Hooks
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import play_episode

if TYPE_CHECKING:
    from reference_trainer.trainer import ERLTrainer

BLANK_RECORD = {"generation": 0, "fitness_mean": 0.0, "fitness_std": 0.0, "fitness_max": 0.0}


class Phases(Hooks):
    """The phases of a run are told to the guard that is active, whoever has started it."""

    def phase(self, name: str) -> AbstractContextManager[object]:
        return phase(name)

    def after_plot(self) -> None:
        # The artists of a figure refer to one another: free them now, not some generations later.
        gc.collect()


class Watching(Phases):
    """A guard of the run's own, which knows what a healthy run has."""

    guard: LeakGuard

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock

    def attach(self, trainer: ERLTrainer) -> None:
        self.trainer = trainer

    @contextmanager
    def training(self, generations: Iterable[int]) -> Iterator[Iterable[int]]:
        warm_up(self.trainer)
        self.guard = make_guard(self.trainer, self.clock)
        with self.guard as guard:
            guard.snapshot("Trainer initialized", baseline=True)
            yield guard.generations(generations)
            series = memory_by_phase(guard)
            if series:
                plots = self.trainer.config.out / "plots"
                self.trainer.plotter.memory(series, plots / "memory.png")


def make_guard(trainer: ERLTrainer, clock: Callable[[], float]) -> LeakGuard:
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
    for env in (trainer.task.eval_env, trainer.task.val_env):
        play_episode(env, trainer.population.best.act, seed=0)
    _rehearse_update(trainer)
    trainer.plotter.fitness([BLANK_RECORD], io.BytesIO())
    trainer.plotter.equity({"best agent": np.ones(2)}, io.BytesIO())
    # What the figures leave is not the run's.
    gc.collect()


def _rehearse_update(trainer: ERLTrainer) -> None:
    """Compute gradients on a blank batch, compiled and by autograd; no parameter moves."""
    config, stack = trainer.config, trainer.population.trained
    if not stack.rows:
        return
    batch = trainer.buffer.blank_batch(stack.rows, config.batch_size)
    stack.gradients(batch)
    stack.critic.accumulate(stack.critic_loss(batch, stack.td_target(batch)).sum())
    stack.actor.accumulate(stack.actor_loss(batch).sum())
    for network in stack.networks:
        network.grad.zero_()
