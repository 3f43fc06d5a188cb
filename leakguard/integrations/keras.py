"""Keras 3, on any backend: generations and phases of ``model.fit()``.

A generation is an epoch, or ``every`` batches. An epoch, or a validation, that lasts more than two
seconds is divided: a generation is then so many of its batches. Phases: ``train``, and ``evaluate``
for the validation of an epoch.

Example::

    guard = LeakGuard(out="runs/fit.jsonl")
    model.fit(x, y, epochs=50, validation_data=(a, b), callbacks=[LeakGuardCallback(guard)])
"""

from __future__ import annotations

from typing import Any

import keras

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop


class LeakGuardCallback(keras.callbacks.Callback):
    """Follows ``fit()`` with a guard.

    The run ends with ``fit()``. If ``fit()`` raises, the run ends with the ``with guard:`` block
    around it, or with the process.
    """

    def __init__(self, guard: LeakGuard | None = None, every: int | None = None) -> None:
        """Use ``guard``, or a new guard if it is None.

        Args:
            guard: a guard with your own ``watch=``, ``out=`` and other settings.
            every: the number of batches in a generation; by default a generation is an epoch, or a
                part of an epoch that lasts long.

        Raises:
            UsageError: ``every`` is no number of steps.
        """
        super().__init__()
        self._loop = FrameworkLoop(guard, every, unit="batch")
        self._batches = 0

    def set_model(self, model: Any) -> None:
        """Keep no model, or the way to what the model keeps would lead through this callback."""

    def on_train_begin(self, logs: Any = None) -> None:
        """Start the run."""
        self._batches = 0
        epochs, batches = self.params.get("epochs"), self.params.get("steps")
        self._loop.begin(epochs, steps=epochs * batches if epochs and batches else None)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin the generation of this epoch and the phase ``train``."""
        self._loop.round(self.params.get("steps"))
        self._loop.phase("train")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begin a generation if one is due; resume ``train`` after validation."""
        self._loop.step(self._batches)
        self._loop.resume("train")
        self._batches += 1

    def on_test_begin(self, logs: Any = None) -> None:
        """Begin the validation."""
        self._loop.evaluation("evaluate")

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begin a generation within a validation that lasts long."""
        self._loop.batch("evaluate")

    def on_test_end(self, logs: Any = None) -> None:
        """Note the end of the validation, with which other callbacks may have work left."""
        self._loop.evaluated()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Leave the phase; what other callbacks do at the end of an epoch belongs to none."""
        self._loop.leave()

    def on_train_end(self, logs: Any = None) -> None:
        """End the run."""
        self._loop.end()
