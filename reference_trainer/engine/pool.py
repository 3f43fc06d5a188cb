"""Episodes in several processes of this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from reference_trainer.config import Config
from reference_trainer.engine.evaluator import Round
from reference_trainer.engine.tape import Tape
from reference_trainer.engine.worker import Job, Worker, jobs, told
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import EpisodeStats, StepBudget


class PoolEvaluator:
    """Members are spread over processes; each has one environment and maps the same panel.

    Episodes come back as tapes and are played into the buffer in the order of the members.
    """

    def __init__(self, config: Config, buffer: ReplayBuffer, budget: StepBudget) -> None:
        self.buffer, self.budget = buffer, budget
        self.pool = ProcessPoolExecutor(
            config.workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open_worker,
            initargs=(config, buffer.storage.needs_observation),
        )

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]:
        """Every member's episodes, in the members' order."""
        for tapes in self.pool.map(_play, jobs(population, round_)):
            yield list(told(tapes, self.buffer, self.budget))

    def close(self) -> None:
        """End the processes."""
        self.pool.shutdown()


_worker: list[Worker] = []


def _open_worker(config: Config, keep_observations: bool) -> None:
    _worker[:] = [Worker(config, keep_observations)]


def _play(job: Job) -> list[Tape]:
    return _worker[0].play(job)
