"""Episodes: an agent plays, the buffer listens."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from reference_trainer.ddpg import DDPGAgent
from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.replay_buffer import EpisodeRecorder, Step


@dataclass(frozen=True)
class EpisodeStats:
    """One episode: the sum of rewards, its length, and the trading summary if there is one.

    `cut` says that the run had no steps left for the rest of it.
    """

    reward: float
    steps: int
    summary: EpisodeSummary | None
    cut: bool = False


@dataclass
class StepBudget:
    """The environment steps of a run: those taken, and those that are left to learn from."""

    limit: int | None = None
    taken: int = 0

    @property
    def left(self) -> int:
        """Steps until the limit; without one, more than anybody can take."""
        return sys.maxsize if self.limit is None else max(0, self.limit - self.taken)

    def spend(self, steps: int) -> None:
        """Count steps that were taken."""
        self.taken += steps


def play_episode(
    env: gymnasium.Env[Any, Any],
    agent: DDPGAgent,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    explore: np.random.Generator | None = None,
    buffer: EpisodeRecorder | None = None,
    member: int = 0,
    random: bool = False,
    horizon: int | None = None,
    limit: int = sys.maxsize,
) -> EpisodeStats:
    """Play one episode; with `explore` the actions carry noise, with `buffer` they are kept.

    `random` draws uniform actions from `explore` instead of asking the agent. `horizon` is a time
    limit: the episode is whole with so many steps. After `limit` steps it is cut.
    """
    observation, info = env.reset(seed=seed, options=options)
    agent.noise.reset()
    if buffer is not None:
        buffer.begin(observation, info, member)
    total, steps, over = 0.0, 0, False
    size = agent.stack.architecture.action_size
    while not over and steps < limit:
        if random and explore is not None:
            action = explore.uniform(-1.0, 1.0, size).astype(np.float32)
        else:
            action = agent.act(flat(observation), explore)
        observation, reward, terminated, truncated, info = env.step(to_range(env, action))
        total += float(reward)
        steps += 1
        over = terminated or truncated or steps == horizon
        if buffer is not None:
            buffer.add(Step(action, float(reward), terminated, observation, info))
    if buffer is not None:
        buffer.end()
    task = env.unwrapped
    summary = task.summary() if isinstance(task, TradingEnvironment) else None
    return EpisodeStats(total, steps, summary, cut=not over)


def flat(observation: np.ndarray) -> np.ndarray:
    """The observation as a float32 vector."""
    return np.asarray(observation, dtype=np.float32).reshape(-1)


def to_range(env: gymnasium.Env[Any, Any], action: np.ndarray) -> np.ndarray:
    """Stretch an action from [-1, 1] to the bounds of the environment."""
    space = env.action_space
    if isinstance(env.unwrapped, TradingEnvironment) or not isinstance(space, gymnasium.spaces.Box):
        return action
    middle, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    return (middle + half * action).astype(space.dtype)
