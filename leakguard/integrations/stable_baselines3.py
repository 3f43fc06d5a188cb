"""Stable-Baselines3: generations and phases of ``model.learn()``.

For on-policy algorithms, a generation is one rollout with the training after it. A rollout that
lasts more than two seconds is divided: a generation is then so many of its steps. Off-policy
algorithms collect only a few steps at a time, so there a generation is ``every`` steps of the
environments. Phases: ``rollout``, ``train``, and ``evaluate`` within a rollout for an
``EvalCallback``.

Example::

    guard = LeakGuard(watch={TradingEnvironment: 2}, out="runs/ppo.jsonl")
    model.learn(1_000_000, callback=[LeakGuardCallback(guard), EvalCallback(eval_env)])
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

from stable_baselines3.common import callbacks
from stable_baselines3.common.callbacks import BaseCallback

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop
from leakguard.model.snapshot import EVALUATIONS
from leakguard.phase import phase

# Default steps in a generation of an off-policy algorithm. Chosen: most algorithms need a few
# seconds for them, and they are two to ten episodes of most environments.
_STEPS_OFF_POLICY = 1_000


class LeakGuardCallback(BaseCallback):
    """Follows ``learn()`` with a guard; put it before your own callbacks.

    The run ends with ``learn()``. If ``learn()`` raises, the run ends with the ``with guard:``
    block around it, or with the process.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Use ``guard``, or a new guard if it is None.

        Args:
            guard: a guard with your own ``watch=``, ``out=`` and other settings.
            every: the number of steps of the environments in a generation. By default a generation
                is a rollout of an on-policy algorithm, or a part of one that lasts long; of an
                off-policy algorithm it is 1,000 steps.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        super().__init__()
        self._loop = FrameworkLoop(guard, every, "rollout", "step of the environments")
        self._evaluate: Any = None

    # A callback keeps the model and the locals of the loop. The way to what the program keeps would
    # lead through this one, which comes first, so it keeps neither.

    def init_callback(self, model: Any) -> None:
        """Keep a weak reference to the model."""
        super().init_callback(weakref.proxy(model))

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Start the run."""
        super().on_training_start({}, {})

    def update_locals(self, locals_: dict[str, Any]) -> None:
        """Keep no locals of the loop."""

    def _on_training_start(self) -> None:
        if self._loop.every is None and hasattr(self.model, "replay_buffer"):
            self._loop.every = _STEPS_OFF_POLICY
        left = self.model._total_timesteps - self.model.num_timesteps
        self._loop.begin(self._rollouts(left), steps=left)
        # EvalCallback does not report when it begins, so the function that it calls is wrapped in a
        # phase.
        if self._evaluate is None:
            self._evaluate = callbacks.evaluate_policy
            callbacks.evaluate_policy = self._following(phase("evaluate")(self._evaluate))

    def _following(self, evaluate: Any) -> Any:
        """Return ``evaluate`` so that each call counts as an evaluation."""

        @functools.wraps(evaluate)
        def followed(*args: Any, **kwargs: Any) -> Any:
            self._loop.guard.outer_round(EVALUATIONS["evaluate"])
            return evaluate(*args, **kwargs)

        return followed

    def _rollouts(self, steps: int) -> int | None:
        """Return how many rollouts have ``steps`` steps; None for an off-policy algorithm."""
        size = getattr(self.model, "n_steps", 0) * self.model.n_envs
        return -(-steps // size) if size else None

    def _on_rollout_start(self) -> None:
        if self._rollouts(1):  # those of off-policy algorithms are but a few steps
            self._loop.round(self.model.n_steps)
        if self._loop.every is not None:
            self._loop.step(self.model.num_timesteps)
        self._loop.phase("rollout")

    def _on_step(self) -> bool:
        if self._loop.every is None:
            self._loop.step()
        return True

    def _on_rollout_end(self) -> None:
        self._loop.phase("train")

    def _on_training_end(self) -> None:
        if self._evaluate is not None:
            callbacks.evaluate_policy, self._evaluate = self._evaluate, None
        self._loop.end()
