"""Episodes in the trainer's own process."""

from __future__ import annotations

from collections.abc import Iterator

from reference_trainer.config import Config
from reference_trainer.ddpg import DDPGAgent
from reference_trainer.engine.evaluator import Round, exploration
from reference_trainer.leaks import Leaks
from reference_trainer.population import Population
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import EpisodeStats, StepBudget, play_episode
from reference_trainer.task import Task


class LocalEvaluator:
    """One episode after the other in the one evaluation environment."""

    def __init__(
        self, config: Config, task: Task, buffer: ReplayBuffer, budget: StepBudget, leaks: Leaks
    ) -> None:
        self.config, self.task, self.buffer = config, task, buffer
        self.budget, self.leaks = budget, leaks

    def play(self, population: Population, round_: Round) -> Iterator[list[EpisodeStats]]:
        """Every member's episodes, member by member."""
        for member, agent in enumerate(population.agents):
            yield [
                self._episode(agent, member, number, round_)
                for number in range(len(round_.plans))
                if self.budget.left
            ]

    def close(self) -> None:
        """Nothing was opened."""

    def _episode(self, agent: DDPGAgent, member: int, number: int, round_: Round) -> EpisodeStats:
        env, plan = self.leaks.environment(self.task), round_.plans[number]
        stats = play_episode(
            env,
            agent,
            seed=plan.seed,
            options=plan.options,
            explore=exploration(self.config, round_, member, number),
            buffer=self.buffer,
            member=member,
            random=round_.random,
            horizon=self.config.episode_steps,
            limit=self.budget.left,
        )
        self.budget.spend(stats.steps)
        self.leaks.after_episode(env, stats)
        return stats
