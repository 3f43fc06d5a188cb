"""The episodes of a generation: where they start, how they are played, and what is kept of them."""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from reference_trainer.agent import DDPGAgent
from reference_trainer.config import Config
from reference_trainer.hooks import Hooks
from reference_trainer.replay_buffer import ReplayBuffer
from reference_trainer.rollout import (
    EpisodeStats,
    Policy,
    StepBudget,
    play_episode,
    random_policy,
)
from reference_trainer.task import EpisodePlan, Task


class Purpose(enum.IntEnum):
    """What a stream of random numbers decides; the values are part of a run's identity."""

    EVALUATION = 0
    TRAINING = 1
    EVOLUTION = 2
    RANDOM_PLAY = 3
    FINAL = 4


def stream(seed: int, purpose: Purpose, generation: int, *more: int) -> np.random.Generator:
    """A stream of its own: it can be repeated whatever was drawn before it."""
    return np.random.default_rng([seed, int(purpose), generation, *more])


class Evaluation:
    """Plays in the one evaluation environment; its steps count, its transitions are kept."""

    def __init__(
        self, config: Config, task: Task, buffer: ReplayBuffer, budget: StepBudget, hooks: Hooks
    ) -> None:
        self.config, self.task, self.buffer = config, task, buffer
        self.budget, self.hooks = budget, hooks

    def plans(self, generation: int) -> list[EpisodePlan]:
        """The same start states for all agents: fitness differences, not luck."""
        rng = stream(self.config.seed, Purpose.EVALUATION, generation)
        return [self.task.plan_episode(rng) for _ in range(self.config.episodes_per_agent)]

    def play(
        self, agent: DDPGAgent, member: int, generation: int, plans: list[EpisodePlan]
    ) -> Iterator[EpisodeStats]:
        """An agent's episodes, exploring if it learns from them."""
        for number, plan in enumerate(plans):
            rng = stream(self.config.seed, Purpose.EVALUATION, generation, member, number)
            policy = agent.exploring(rng) if self.config.explores(member) else agent.act
            if self.budget.left:
                yield self._episode(plan, policy, horizon=self.config.episode_steps)

    def play_at_random(self, generation: int) -> int:
        """Uniform actions until the run has taken its `random_steps`; returns the steps taken.

        They fill the buffer and measure nobody.
        """
        rng = stream(self.config.seed, Purpose.RANDOM_PLAY, generation)
        policy = random_policy(self.task.architecture.action_size, rng)
        before = self.budget.taken
        while (missing := self.config.random_steps - self.budget.taken) > 0 and self.budget.left:
            self._episode(self.task.plan_episode(rng), policy, limit=missing)
        return self.budget.taken - before

    def judge(self, contenders: Sequence[DDPGAgent], generation: int) -> list[list[float]]:
        """Rewards of whole episodes without noise, until the run has no steps left.

        All play the same episodes, one each in turn; those that come last may have one fewer.
        """
        rng = stream(self.config.seed, Purpose.FINAL, generation)
        rewards: list[list[float]] = [[] for _ in contenders]
        while self.budget.left:
            plan = self.task.plan_episode(rng)
            for agent, earned in zip(contenders, rewards, strict=True):
                stats = self._episode(plan, agent.act) if self.budget.left else None
                if stats is not None and not stats.cut:
                    earned.append(stats.reward)
        return rewards

    def _episode(
        self,
        plan: EpisodePlan,
        policy: Policy,
        *,
        horizon: int | None = None,
        limit: int = sys.maxsize,
    ) -> EpisodeStats:
        env = self.hooks.environment(self.task.eval_env)
        stats = play_episode(
            env,
            policy,
            seed=plan.seed,
            options=plan.options,
            buffer=self.buffer,
            horizon=horizon,
            limit=min(limit, self.budget.left),
        )
        self.budget.spend(stats.steps)
        self.hooks.after_episode(env, stats)
        return stats
