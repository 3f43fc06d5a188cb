"""Episodes: an agent plays, the buffer listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from reference_trainer.ddpg import DDPGAgent
from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.replay_buffer import EpisodeRecorder


@dataclass(frozen=True)
class EpisodeStats:
    """One episode: the sum of rewards, its length, and the trading summary if there is one."""

    reward: float
    steps: int
    summary: EpisodeSummary | None


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
) -> EpisodeStats:
    """Play one episode; with `explore` the actions carry noise, with `buffer` they are kept.

    `random` draws uniform actions from `explore` instead of asking the agent.
    """
    observation, info = env.reset(seed=seed, options=options)
    agent.noise.reset()
    if buffer is not None:
        buffer.begin(observation, info, member)
    total, steps, over = 0.0, 0, False
    size = agent.stack.architecture.action_size
    while not over:
        if random and explore is not None:
            action = explore.uniform(-1.0, 1.0, size).astype(np.float32)
        else:
            action = agent.act(flat(observation), explore)
        observation, reward, terminated, truncated, info = env.step(to_range(env, action))
        total += float(reward)
        steps += 1
        over = terminated or truncated
        if buffer is not None:
            buffer.add(action, float(reward), terminated, observation, info, member)
    if buffer is not None:
        buffer.end()
    task = env.unwrapped
    return EpisodeStats(
        total, steps, task.summary() if isinstance(task, TradingEnvironment) else None
    )


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
