"""Hugging Face: generations and phases of ``trainer.train()``.

A generation is an epoch, or ``every`` optimizer steps. An epoch, or an evaluation, that lasts more
than two seconds is divided: a generation is then so many of its steps. Phases: ``train`` and
``evaluate``. The phase ``evaluate`` includes the logging before
the evaluation, and what other callbacks do at the end of the epoch.

Example::

    guard = LeakGuard(out="runs/finetune.jsonl")
    trainer = Trainer(model, args, callbacks=[LeakGuardCallback(guard)])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop


class LeakGuardCallback(TrainerCallback):
    """Follows ``train()`` with a guard.

    The run ends with ``train()``. If ``train()`` raises, the run ends with the ``with guard:``
    block around it, or with the process.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Use ``guard``, or a new guard if it is None.

        Args:
            guard: a guard with your own ``watch=``, ``out=`` and other settings.
            every: the number of optimizer steps in a generation; by default a generation is an
                epoch, or a part of an epoch that lasts long.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        self._loop = FrameworkLoop(guard, every, unit="training step")

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the run."""
        epochs = state.num_train_epochs - int(state.epoch or 0)
        self._loop.begin(epochs, steps=state.max_steps - state.global_step)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the generation of this epoch and the phase ``train``."""
        epochs, steps = state.num_train_epochs, state.max_steps
        self._loop.round(-(-steps // epochs) if epochs > 0 and steps > 0 else None)
        self._loop.phase("train")

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin a generation if one is due; resume ``train`` after evaluation."""
        self._loop.step(state.global_step)
        self._loop.resume("train")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the phase ``evaluate`` if an evaluation follows.

        The trainer has a callback only for the end of an evaluation.
        """
        if control.should_evaluate:
            self._loop.evaluation("evaluate")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin the phase ``evaluate`` if an evaluation follows; else leave the phase ``train``."""
        if control.should_evaluate:
            self._loop.evaluation("evaluate")
        else:
            self._loop.leave()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin a generation within an evaluation that lasts long."""
        self._loop.batch("evaluate")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Leave the phase ``evaluate``."""
        self._loop.leave()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the run."""
        self._loop.end()
