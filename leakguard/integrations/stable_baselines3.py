"""Stable-Baselines3: generations and phases of ``model.learn()``.

A generation is one rollout with the training after it; off-policy algorithms collect a few steps at
a time, so there it is ``every`` steps of the environments. Phases: ``rollout``, ``train``, and
``evaluate`` within a rollout for an ``EvalCallback``.

Example::

    guard = LeakGuard(watch={TradingEnvironment: 2}, out="runs/ppo.jsonl")
    model.learn(1_000_000, callback=[LeakGuardCallback(guard), EvalCallback(eval_env)])
"""

from __future__ import annotations

from typing import Any

from stable_baselines3.common import callbacks
from stable_baselines3.common.callbacks import BaseCallback

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop
from leakguard.phase import phase

# A few seconds of most off-policy algorithms, and two to ten episodes of most environments.
_STEPS_OFF_POLICY = 1_000


class LeakGuardCallback(BaseCallback):
    """Follows ``learn()`` with a guard; put it before your own callbacks.

    The run ends with ``learn()``; where that raises, with the ``with guard:`` around it or with the
    process.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Follow with ``guard``, or one of its own.

        Args:
            guard: what watches, with your ``watch=``, ``out=`` and the like.
            every: steps of the environments that make a generation; a rollout of on-policy
                algorithms and 1,000 steps of off-policy ones unless given.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        super().__init__()
        self._loop = FrameworkLoop(guard, every)
        self._evaluate: Any = None

    def _on_training_start(self) -> None:
        if self._loop.every is None and hasattr(self.model, "replay_buffer"):
            self._loop.every = _STEPS_OFF_POLICY
        left = self.model._total_timesteps - self.model.num_timesteps
        self._loop.begin(self._rollouts(left), steps=left)
        # EvalCallback tells nobody when it begins: the function it calls is put into a phase.
        if self._evaluate is None:
            self._evaluate = callbacks.evaluate_policy
            callbacks.evaluate_policy = phase("evaluate")(self._evaluate)

    def _rollouts(self, steps: int) -> int | None:
        """Return how many rollouts so many steps are; None off-policy, which has short ones."""
        size = getattr(self.model, "n_steps", 0) * self.model.n_envs
        return -(-steps // size) if size else None

    def _on_rollout_start(self) -> None:
        if self._loop.every is None:
            self._loop.generation()
        else:
            self._loop.step(self.model.num_timesteps)
        self._loop.phase("rollout")

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self._loop.phase("train")

    def _on_training_end(self) -> None:
        if self._evaluate is not None:
            callbacks.evaluate_policy, self._evaluate = self._evaluate, None
        self._loop.end()
