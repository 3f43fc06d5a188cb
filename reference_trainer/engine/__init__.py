"""Where the population plays: in this process, in several, or on a Ray cluster.

The result is the same, number for number.
"""

from __future__ import annotations

from reference_trainer.config import Config
from reference_trainer.engine.evaluator import Evaluator, Round
from reference_trainer.engine.local import LocalEvaluator
from reference_trainer.engine.pool import PoolEvaluator
from reference_trainer.errors import ConfigError
from reference_trainer.leaks import Leaks
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import StepBudget
from reference_trainer.task import Task

__all__ = ["Evaluator", "LocalEvaluator", "PoolEvaluator", "Round", "make_evaluator"]


def make_evaluator(
    config: Config, task: Task, buffer: ReplayBuffer, budget: StepBudget, leaks: Leaks
) -> Evaluator:
    """The evaluator that the configuration asks for."""
    if config.engine == "local" and not config.workers:
        return LocalEvaluator(config, task, buffer, budget, leaks)
    if config.leaks:
        raise ConfigError(
            "leaks live in the trainer's process: use --leak without --workers or --engine"
        )
    if config.engine == "ray":
        from reference_trainer.engine.ray_actors import RayEvaluator

        return RayEvaluator(config, buffer, budget)
    return PoolEvaluator(config, buffer, budget)
