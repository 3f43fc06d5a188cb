"""Gymnasium: a wrapped environment counts its own episodes or steps as generations.

A generation is ``every`` episodes of a single environment. For a vector environment, whose episodes
end at different times, it is ``every`` steps. Phases: ``reset``. A step is no phase, because
measuring its beginning and its end would cost more than the step of a small environment.

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
    """An environment that reports its episodes to a guard; ``close()`` ends the run."""

    def __init__(self, env: Any, guard: LeakGuard | None = None, every: int = 10) -> None:
        """Use ``guard``, or a new guard if it is None; ``every`` episodes are a generation.

        Raises:
            UsageError: ``every`` is no number of episodes.
        """
        super().__init__(env)
        self._loop = FrameworkLoop(guard, every)
        self._episodes = 0

    def reset(self, **kwargs: Any) -> Any:
        """Begin an episode; after ``every`` episodes, also begin a generation."""
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
    """A vector environment that reports its steps to a guard; ``close()`` ends the run."""

    def __init__(self, env: Any, guard: LeakGuard | None = None, every: int = 500) -> None:
        """Use ``guard``, or a new guard if it is None; ``every`` steps are a generation.

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
        """Step all environments; after ``every`` steps, first begin a generation."""
        self._loop.step(self._steps)
        self._steps += 1
        return self.env.step(actions)

    def close(self, **kwargs: Any) -> None:
        """End the run and close the environments."""
        self._loop.end()
        super().close(**kwargs)
