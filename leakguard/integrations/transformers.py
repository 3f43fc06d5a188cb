"""Hugging Face: generations and phases of ``trainer.train()``.

A generation is an epoch, or ``every`` optimizer steps; give ``every`` where a training has less
than ten epochs. Phases: ``train`` and ``evaluate``, which begins with what is logged before it and
with what other callbacks do at the end of the epoch.

Example::

    guard = LeakGuard(out="runs/finetune.jsonl")
    trainer = Trainer(model, args, callbacks=[LeakGuardCallback(guard, every=100)])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop


class LeakGuardCallback(TrainerCallback):
    """Follows ``train()`` with a guard.

    The run ends with ``train()``; where that raises, with the ``with guard:`` around it or with the
    process.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Follow with ``guard``, or one of its own.

        Args:
            guard: what watches, with your ``watch=``, ``out=`` and the like.
            every: optimizer steps that make a generation; an epoch unless given.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        self._loop = FrameworkLoop(guard, every)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the run."""
        epochs = state.num_train_epochs - int(state.epoch or 0)
        self._loop.begin(epochs, steps=state.max_steps - state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the generation of this epoch, and its training."""
        if self._loop.every is None:
            self._loop.generation()
        self._loop.phase("train")

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin a generation where one is so many steps; go on training after an evaluation."""
        self._loop.step(state.global_step)
        self._loop.resume("train")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the evaluation, if one follows: the trainer tells of its end only."""
        if control.should_evaluate:
            self._loop.phase("evaluate")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the evaluation, if one follows, or leave the training."""
        if control.should_evaluate:
            self._loop.phase("evaluate")
        else:
            self._loop.leave()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Leave the evaluation."""
        self._loop.leave()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the run."""
        self._loop.end()
