"""Episodes on a Ray cluster, or on a Ray of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reference_trainer.config import Config
from reference_trainer.engine.evaluator import Round
from reference_trainer.engine.worker import Job, Worker, jobs, told
from reference_trainer.errors import ConfigError
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import EpisodeStats, StepBudget


class RayEvaluator:
    """Members are spread over actors; each has one environment and maps the panel of its node.

    A cluster that is already connected or named by RAY_ADDRESS is used, else one is started
    here and ended by `close`. Every node needs the data folder of the configuration.
    """

    def __init__(self, config: Config, buffer: ReplayBuffer, budget: StepBudget) -> None:
        try:
            import ray
            from ray.util import ActorPool
        except ImportError as problem:
            raise ConfigError(
                f"--engine ray needs the extra leakguard-training[ray]: {problem}"
            ) from None
        self.ray, self.buffer, self.budget = ray, buffer, budget
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        actor = ray.remote(num_cpus=1)(Worker)
        count = config.workers or max(1, int(ray.cluster_resources()["CPU"]))
        self.workers = [
            actor.remote(config, buffer.storage.needs_observation) for _ in range(count)
        ]
        self.pool = ActorPool(self.workers)

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]:
        """Every member's episodes, in the members' order."""
        played = self.pool.map(
            lambda worker, job: worker.play.remote(job), jobs(population, round_)
        )
        for tapes in played:
            yield list(told(tapes, self.buffer, self.budget))

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        for worker in self.workers:
            self.ray.kill(worker)
        if self._own:
            self.ray.shutdown()


def _play(worker: Any, job: Job) -> Any:
    return worker.play.remote(job)
