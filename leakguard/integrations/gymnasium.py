"""Gymnasium: generations of whoever steps an environment, counted by the environment itself.

A generation is ``every`` episodes of a single environment, and ``every`` steps of a vector one,
whose episodes end each on its own. Phases: ``reset``. A step is no phase of its own: to measure its
both ends would cost more than the step of a small environment.

Example::

    guard = LeakGuard(watch={TradingEnvironment: 1}, out="runs/train.jsonl")
    env = WatchedEnv(gymnasium.make("CartPole-v1"), guard, every=20)
    envs = WatchedVectorEnv(gymnasium.make_vec("CartPole-v1", 8), guard, every=500)
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import VectorWrapper

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop


class WatchedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that tells a guard of its episodes; ``close()`` ends the run."""

    def __init__(self, env: Any, guard: LeakGuard | None = None, every: int = 10) -> None:
        """Watch with ``guard``, or one of its own; ``every`` episodes are a generation.

        Raises:
            UsageError: ``every`` is no number of episodes.
        """
        super().__init__(env)
        self._loop = FrameworkLoop(guard, every)
        self._episodes = 0

    def reset(self, **kwargs: Any) -> Any:
        """Begin an episode; after a number of episodes a new generation."""
        self._loop.begin()
        self._loop.step(self._episodes)
        self._episodes += 1
        with self._loop.guard.phase("reset"):
            return self.env.reset(**kwargs)

    def close(self) -> None:
        """End the run and close the environment."""
        self._loop.end()
        super().close()


class WatchedVectorEnv(VectorWrapper[Any, Any, Any, Any, Any]):
    """Environments side by side that tell a guard of their steps; ``close()`` ends the run."""

    def __init__(self, env: Any, guard: LeakGuard | None = None, every: int = 500) -> None:
        """Watch with ``guard``, or one of its own; ``every`` calls of ``step`` are a generation.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        super().__init__(env)
        self._loop = FrameworkLoop(guard, every)
        self._steps = 0

    def reset(self, **kwargs: Any) -> Any:
        """Reset all environments."""
        self._loop.begin()
        with self._loop.guard.phase("reset"):
            return self.env.reset(**kwargs)

    def step(self, actions: Any) -> Any:
        """Step all environments, and begin a generation after so many steps."""
        self._loop.step(self._steps)
        self._steps += 1
        return self.env.step(actions)

    def close(self, **kwargs: Any) -> None:
        """End the run and close the environments."""
        self._loop.end()
        super().close(**kwargs)
