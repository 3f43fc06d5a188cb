"""Episodes: a policy plays, the buffer listens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from reference_trainer.environment import EpisodeSummary, TradingEnvironment
from reference_trainer.replay_buffer import ReplayBuffer, Step

#: The action in [-1, 1] for a flat float32 observation.
Policy = Callable[[np.ndarray], np.ndarray]


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
    policy: Policy,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    buffer: ReplayBuffer | None = None,
    horizon: int | None = None,
    limit: int = sys.maxsize,
) -> EpisodeStats:
    """Play one episode; what happens is kept in `buffer`, if there is one.

    `horizon` is a time limit: the episode is whole with so many steps. After `limit` it is cut.
    """
    stretch = to_range(env)
    observation, info = env.reset(seed=seed, options=options)
    if buffer is not None:
        buffer.begin(observation, info)
    total, steps, over = 0.0, 0, False
    while not over and steps < limit:
        action = policy(flat(observation))
        observation, reward, terminated, truncated, info = env.step(stretch(action))
        if buffer is not None:
            buffer.add(Step(action, float(reward), terminated, observation, info))
        total += float(reward)
        steps += 1
        over = terminated or truncated or steps == horizon
    return EpisodeStats(total, steps, _summary(env), cut=not over)


def random_policy(size: int, rng: np.random.Generator) -> Policy:
    """Uniform actions, whatever is seen."""
    return lambda observation: rng.uniform(-1.0, 1.0, size).astype(np.float32)


def flat(observation: np.ndarray) -> np.ndarray:
    """The observation as a float32 vector."""
    return np.asarray(observation, dtype=np.float32).reshape(-1)


def to_range(env: gymnasium.Env[Any, Any]) -> Callable[[np.ndarray], np.ndarray]:
    """What stretches actions from [-1, 1] to the bounds of the environment."""
    space = env.action_space
    if isinstance(env.unwrapped, TradingEnvironment) or not isinstance(space, gymnasium.spaces.Box):
        return lambda action: action
    middle, half, dtype = (space.high + space.low) / 2, (space.high - space.low) / 2, space.dtype
    return lambda action: (middle + half * action).astype(dtype)


def _summary(env: gymnasium.Env[Any, Any]) -> EpisodeSummary | None:
    task = env.unwrapped
    return task.summary() if isinstance(task, TradingEnvironment) else None
